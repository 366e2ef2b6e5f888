"""Records that nobody changes: frozen dataclasses with slots, which only the type checker freezes.

At run time dataclasses' own freezing makes a record several times dearer to fill, and the code that they
write for each class takes a tenth of the time that muxpilot needs to start. Here only `__init__` is
written for each class; to compare, hash and show records is the same for all.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, TypeVar, dataclass_transform

Record = TypeVar("Record")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[Record]) -> type[Record]:
    own = vars(cls)
    if own.get("__doc__") is None:
        cls.__doc__ = cls.__name__  # or dataclasses works out a signature to put there
    made = dataclass(slots=True, eq=False, repr=False)(cls)
    for name, method in _METHODS.items():
        if name not in own:
            setattr(made, name, method)
    return made


@cache
def _compared(cls: type) -> tuple[str, ...]:
    return tuple(row.name for row in fields(cls) if row.compare)


@cache
def _shown(cls: type) -> tuple[str, ...]:
    return tuple(row.name for row in fields(cls) if row.repr)


def _key(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in _compared(self.__class__)])


def _equals(self: Any, other: object) -> Any:
    return _key(self) == _key(other) if other.__class__ is self.__class__ else NotImplemented


def _hash(self: Any) -> int:
    return hash(_key(self))


def _show(self: Any) -> str:
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in _shown(self.__class__))
    return f"{self.__class__.__qualname__}({values})"


_METHODS = {"__eq__": _equals, "__hash__": _hash, "__repr__": _show}
