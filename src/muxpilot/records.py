"""The decorators `record`, `mutable_record` and `mutable_object`, and `FastEnum`.

`record` makes a dataclass with slots whose fields do not change after it is built.

Only the type checker refuses to assign to a field; at run time the records are not frozen, for two reasons:

1. `dataclass(frozen=True)` sets each field through `object.__setattr__`, which makes a record several times
   slower to build. A listing of tmux builds one record for each pane.
2. dataclasses generate and compile four methods for each class, which takes a tenth of a millisecond. Here
   `__init__` is compiled when the first record of a class is made; all classes share the other three methods.

The other two decorators make classes in the same way whose fields do change.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from enum import Enum
from functools import cache
from typing import Any, TypeVar, dataclass_transform

RecordType = TypeVar("RecordType")


class FastEnum(Enum):
    """An enumeration whose members are hashed by identity, for tables that are looked up often.

    `Enum` hashes the names of its members in Python code, which costs more than the look-up.
    """

    __hash__ = object.__hash__


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def record(cls: type[RecordType]) -> type[RecordType]:
    """Make a class a record: compared, hashed and shown by its fields."""
    return _make_dataclass(cls, {"__eq__": _equals, "__hash__": _hash})


@dataclass_transform(field_specifiers=(field,))
def mutable_record(cls: type[RecordType]) -> type[RecordType]:
    """Make a class a record whose fields may change: compared by its fields, and not hashed."""
    return _make_dataclass(cls, {"__eq__": _equals, "__hash__": None})


@dataclass_transform(eq_default=False, field_specifiers=(field,))
def mutable_object(cls: type[RecordType]) -> type[RecordType]:
    """Make a class a dataclass with slots whose instances are compared and hashed by identity."""
    return _make_dataclass(cls, {})


def _make_dataclass(cls: type[RecordType], methods: Mapping[str, Any]) -> type[RecordType]:
    own = vars(cls)
    if own.get("__doc__") is None:
        cls.__doc__ = cls.__name__  # without a docstring, dataclasses compute a signature to put there
    made = dataclass(slots=True, init=False, eq=False, repr=False)(cls)
    if "__init__" not in own:
        _compile_init_later(made)
    for name, method in {**methods, "__repr__": _show}.items():
        if name not in own:
            setattr(made, name, method)
    return made


def _compile_init_later(made: Any) -> None:
    """Let the first call of a class replace its `__init__` by one that is compiled for its fields."""

    def init_first(self: Any, *args: Any, **kwargs: Any) -> None:
        made.__init__ = _compile_init(made)
        made.__init__(self, *args, **kwargs)

    made.__init__ = init_first


def _compile_init(made: Any) -> Any:
    """Return the `__init__` that dataclasses would generate. Fields after `KW_ONLY` are given by name."""
    names: dict[str, Any] = {"_MISSING": MISSING}
    parameters, lines = [], []
    for row in sorted(fields(made), key=lambda each: bool(each.kw_only)):
        if row.kw_only and "*" not in parameters:
            parameters.append("*")
        default, value = f"_default_{row.name}", row.name
        if row.default_factory is not MISSING:
            names[default] = row.default_factory
            parameters.append(f"{row.name}=_MISSING")
            value = f"{default}() if {row.name} is _MISSING else {row.name}"
        elif row.default is not MISSING:
            names[default] = row.default
            parameters.append(f"{row.name}={default}")
        else:
            parameters.append(row.name)
        lines.append(f"    self.{row.name} = {value}")
    if hasattr(made, "__post_init__"):
        lines.append("    self.__post_init__()")
    text = f"def __init__(self, {', '.join(parameters)}):\n" + ("\n".join(lines) or "    pass")
    exec(text, names)
    return names["__init__"]


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
