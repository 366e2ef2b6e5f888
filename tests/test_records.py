"""Records behave like dataclasses with slots, and cost less to build."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from dataclasses import KW_ONLY, field, fields, replace

import pytest

import muxpilot
from muxpilot import records
from muxpilot.records import mutable_object, mutable_record, record
from muxpilot.tmux.formats import FieldTable
from muxpilot.tmux.models import (
    BUFFER,
    CLIENT,
    LISTED_PANE,
    PANE,
    SESSION,
    WINDOW,
    Buffer,
    Client,
    ListedPane,
    Pane,
    Session,
    Window,
)


@record
class Point:
    x: int
    y: int = 0
    note: str = field(default="", compare=False, repr=False)


@record
class Named(Point):
    name: str = "origin"

    def __repr__(self) -> str:
        return f"<{self.name}>"


def test_records_of_the_same_values_are_equal_and_hash_alike() -> None:
    assert Point(1, 2, "a") == Point(1, 2, "b")
    assert len({Point(1, 2, "a"), Point(1, 2, "b"), Point(1, 3)}) == 2
    assert Point(1, 2).__eq__((1, 2)) is NotImplemented
    assert Point(0, 0) != Named(0, 0)


@mutable_record
class Count:
    """A number that changes."""

    number: int = 0
    parts: list[int] = field(default_factory=list)

    def add(self) -> None:
        self.number += 1


@mutable_object
class Counter:
    number: int
    _hidden: str = field(default="secret", repr=False)


def test_a_mutable_record_is_compared_by_its_fields_and_not_hashed() -> None:
    first, second = Count(1), Count()
    assert first != second
    second.add()
    assert first == second
    assert first.parts is not second.parts
    with pytest.raises(TypeError, match="unhashable"):
        hash(first)
    with pytest.raises(AttributeError):
        object.__setattr__(first, "z", 3)


def test_a_mutable_object_is_compared_and_hashed_by_identity() -> None:
    first, second = Counter(1), Counter(1)
    assert first != second
    first.number = 2
    assert {first: "found"}[first] == "found"
    assert repr(first) == "Counter(number=2)"


@record
class Checked:
    parts: list[int] = field(default_factory=list)
    total: int = 0

    def __post_init__(self) -> None:
        object.__setattr__(self, "total", sum(self.parts))


@record
class Empty:
    pass


@record
class Mixed(Point):
    _: KW_ONLY
    needed: int
    w: int = 7


def test_records_are_made_as_dataclasses_are() -> None:
    assert (Point(1).y, Point(y=2, x=1).y, Named(1, name="a").name) == (0, 2, "a")
    assert Checked([1, 2]).total == 3
    assert Checked().parts is not Checked().parts
    assert Empty() == Empty()
    assert (Mixed(1, needed=3).needed, Mixed(1, 2, needed=3, w=4).w) == (3, 4)
    wrong: list[tuple[tuple[object, ...], dict[str, int]]] = [((), {}), ((1,), {"z": 2}), ((1, 2, "", 4), {})]
    for args, kwargs in wrong * 2:  # the first record of a class, and later ones
        with pytest.raises(TypeError):
            vars(Point)["__init__"](Point(1), *args, **kwargs)


def test_every_record_of_muxpilot_can_be_made() -> None:
    for module in pkgutil.walk_packages(muxpilot.__path__, "muxpilot."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    checked = 0
    for cls in _all_classes(object):
        own = vars(cls)
        is_ours = str(own.get("__module__", "")).startswith("muxpilot.")
        if is_ours and "__dataclass_fields__" in own and own.get("__repr__") is records._show:
            given = list(inspect.signature(records._compile_init(cls)).parameters.values())[1:]
            wanted = {row.name for row in fields(cls)}
            assert {each.name for each in given} == wanted, cls
            checked += 1
    assert checked > 150


def _all_classes(cls: type) -> Iterator[type]:
    found: list[type] = type.__subclasses__(cls)
    for each in found:
        yield each
        yield from _all_classes(each)


def test_a_record_shows_its_values_unless_it_says_otherwise() -> None:
    assert repr(Point(1, 2, "hidden")) == "Point(x=1, y=2)"
    assert repr(Named(1)) == "<origin>"


def test_a_record_has_room_for_its_fields_only() -> None:
    assert replace(Named(1), name="end") == Named(1, name="end")
    with pytest.raises(AttributeError):
        object.__setattr__(Point(1), "z", 3)


@pytest.mark.parametrize(
    ("table", "record"),
    [
        (SESSION, Session),
        (WINDOW, Window),
        (LISTED_PANE, ListedPane),
        (PANE, Pane),
        (CLIENT, Client),
        (BUFFER, Buffer),
    ],
)
def test_tmux_is_asked_for_every_field_that_a_record_must_have(table: FieldTable, record: type) -> None:
    rows = fields(record)
    assert [row.name for row in rows if row.name != "remote_shell"] == list(table)
