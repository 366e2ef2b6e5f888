"""Argument types: which values fit, and what an error says of the others."""

from __future__ import annotations

from typing import Annotated, Any, Literal

import pytest

from muxpilot.tmux import PaneId, SessionId, WindowId
from muxpilot.toolkit.argument_types import Between, WrongValue, argument_type

PERCENT = Annotated[int, "Percent", Between(1, 99)]

FITS: list[tuple[Any, Any]] = [
    (str, ""),
    (str, "é世"),
    (int, 5),
    (int, -(10**30)),
    (float, 1.5),
    (float, 2),
    (bool, False),
    (PERCENT, 1),
    (PERCENT, 99),
    (int | None, 3),
    (int | str, 4),
    (int | str, "-"),
    (Literal["up", "down"], "up"),
    (list[PaneId], ["%1", "dev:0.1"]),
    (dict[str, str], {"A": "b"}),
    (PaneId, "%1"),
    (SessionId, "any name: at all."),
]

WRONG: list[tuple[Any, Any, str]] = [
    (str, 5, "a string, not an integer"),
    (str, None, "a string, not null"),
    (str, "\ud800", "valid Unicode, without lone surrogates"),
    (int, "5", "a whole number, not '5'"),
    (int, True, "a whole number, not a boolean"),
    (int, 1.5, "a whole number, not a number"),
    (int, float("inf"), "a whole number, not a number"),
    (int, float("nan"), "a whole number, not a number"),
    (float, True, "a number, not a boolean"),
    (bool, "true", "true or false, not 'true'"),
    (bool, 1, "true or false, not an integer"),
    (PERCENT, 0, "from 1 to 99, not 0"),
    (PERCENT, 100, "from 1 to 99, not 100"),
    (PERCENT, 10**400, "from 1 to 99"),
    (PERCENT, -(10**400), "from 1 to 99"),
    (PERCENT, "x" * 50, "a whole number, not a string"),
    (Annotated[int, Between(1, 1_000_000)], 0, "from 1 to 1000000, not 0"),
    (Annotated[float, Between(0.1, 3600)], 0, "from 0.1 to 3600, not 0"),
    (Annotated[float, Between(0.1, 3600)], float("nan"), "from 0.1 to 3600"),
    (Annotated[float, Between(0.1, 3600)], 10**400, "from 0.1 to 3600"),
    (int | str, True, "a whole number or a string, not a boolean"),
    (Literal["up", "down"], "left", "one of up, down, not 'left'"),
    (Literal["up", "down"], ["up"], "one of up, down, not a list"),
    (list[PaneId], "%1", "a list, not '%1'"),
    (list[PaneId], [5], "a list, each a string, not an integer"),
    (dict[str, str], [], "an object with string values, not a list"),
    (dict[str, str], {"A": 5}, "an object with string values: each a string, not an integer"),
    (PaneId, "", "a pane id such as %3, or an exact name, not ''"),
    (PaneId, ":.", "a pane id such as %3, or an exact name, not ':.'"),
    (WindowId, "=", "a window id such as @3, or an exact name, not '='"),
    (SessionId, " ", "a session id such as $3, or an exact name, not ' '"),
    (SessionId, 1, "a string, not an integer"),
]


@pytest.mark.parametrize(("annotation", "value"), FITS)
def test_what_fits_is_taken_as_it_is(annotation: Any, value: Any) -> None:
    assert argument_type(annotation).check(value) == value


def test_a_whole_number_may_be_written_as_a_fraction() -> None:
    assert repr(argument_type(int).check(5.0)) == "5"


@pytest.mark.parametrize(("annotation", "value", "words"), WRONG)
def test_what_does_not_fit_is_told_with_what_is_allowed(annotation: Any, value: Any, words: str) -> None:
    with pytest.raises(WrongValue) as caught:
        argument_type(annotation).check(value)
    assert str(caught.value).startswith(words)


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        (str, {"type": "string"}),
        (PERCENT, {"type": "integer", "minimum": 1, "maximum": 99}),
        (int | None, {"type": "integer"}),
        (int | str | None, {"anyOf": [{"type": "integer"}, {"type": "string"}]}),
        (Literal["a", "b"], {"type": "string", "enum": ["a", "b"]}),
        (list[PaneId], {"type": "array", "items": {"type": "string"}}),
        (dict[str, str], {"type": "object", "additionalProperties": {"type": "string"}}),
        (PaneId | None, {"type": "string"}),
    ],
)
def test_a_kind_has_the_schema_that_it_keeps(annotation: Any, schema: dict[str, Any]) -> None:
    assert argument_type(annotation).schema == schema


@pytest.mark.parametrize("annotation", [PaneId, PaneId | None, Annotated[PaneId | None, "x"], list[PaneId]])
def test_a_target_is_known_behind_what_is_wrapped_around_it(annotation: Any) -> None:
    assert argument_type(annotation).target is PaneId


def test_a_type_that_is_no_argument_is_a_mistake_in_a_tool() -> None:
    with pytest.raises(KeyError):
        argument_type(complex)
