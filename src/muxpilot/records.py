"""The decorator `record`: a dataclass with slots whose fields do not change after it is built.

Only the type checker refuses to assign to a field; at run time the records are not frozen, for two reasons:

1. `dataclass(frozen=True)` sets each field through `object.__setattr__`, which makes a record several times
   slower to build. A listing of tmux builds one record for each pane.
2. dataclasses generate and compile `__eq__`, `__hash__` and `__repr__` for each class. That took a tenth of
   muxpilot's time to start. Here only `__init__` is generated; all classes share the other three methods.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, TypeVar, dataclass_transform

RecordType = TypeVar("RecordType")


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[RecordType]) -> type[RecordType]:
    """Make a class a record: compared, hashed and shown by its fields."""
    own = vars(cls)
    if own.get("__doc__") is None:
        cls.__doc__ = cls.__name__  # without a docstring, dataclasses compute a signature to put there
    made = dataclass(slots=True, eq=False, repr=False)(cls)
    for name, method in _SHARED_METHODS.items():
        if name not in own:
            setattr(made, name, method)
    return made


@cache
def _fields_to_compare(cls: type) -> tuple[str, ...]:
    return tuple(row.name for row in fields(cls) if row.compare)


@cache
def _fields_to_show(cls: type) -> tuple[str, ...]:
    return tuple(row.name for row in fields(cls) if row.repr)


def _values_to_compare(self: Any) -> tuple[Any, ...]:
    return tuple([getattr(self, name) for name in _fields_to_compare(self.__class__)])


def _equals(self: Any, other: object) -> Any:
    if other.__class__ is not self.__class__:
        return NotImplemented
    return _values_to_compare(self) == _values_to_compare(other)


def _hash(self: Any) -> int:
    return hash(_values_to_compare(self))


def _show(self: Any) -> str:
    values = ", ".join(f"{name}={getattr(self, name)!r}" for name in _fields_to_show(self.__class__))
    return f"{self.__class__.__qualname__}({values})"


_SHARED_METHODS = {"__eq__": _equals, "__hash__": _hash, "__repr__": _show}
