"""Answers: records become JSON that fits its own schema."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

import jsonschema
import pytest

from muxpilot.tmux import PaneId
from muxpilot.toolkit.answers import Answer, output_schema, to_answer


@dataclass(frozen=True)
class Row:
    pane_id: PaneId
    exit_code: int | None
    is_dead: bool


@dataclass(frozen=True)
class Rows:
    rows: list[Row]
    seconds: float
    hint: str | None = None


ANSWER = Rows([Row(PaneId("%1"), None, False), Row(PaneId("%2"), 3, True)], 1.5)
DATA = {
    "rows": [
        {"paneId": "%1", "exitCode": None, "isDead": False},
        {"paneId": "%2", "exitCode": 3, "isDead": True},
    ],
    "seconds": 1.5,
}


def test_names_become_camel_case_and_falsehood_stays() -> None:
    assert to_answer(ANSWER).structured == DATA
    assert not to_answer(ANSWER).is_error


def test_a_field_with_a_default_is_left_out_until_it_has_another_value() -> None:
    assert to_answer(Rows([], 0, hint="look")).structured == {"rows": [], "seconds": 0, "hint": "look"}
    assert to_answer(Rows([], 0)).structured == {"rows": [], "seconds": 0}


def test_the_text_is_the_same_json_compact() -> None:
    answer = to_answer(Rows([], 0, hint="é 世 \n"))
    assert answer.text == '{"rows":[],"seconds":0,"hint":"é 世 \\n"}'
    assert json.loads(answer.text) == answer.structured


def test_a_body_of_text_is_that_text_alone() -> None:
    assert to_answer(" body\n") == Answer(" body\n")
    assert output_schema(str) is None


def test_bytes_that_are_no_text_do_not_break_the_answer() -> None:
    path = b"/tmp/\xff".decode("utf-8", "surrogateescape")
    answer = to_answer(Rows([], 0, hint=path))
    assert answer.structured == {"rows": [], "seconds": 0, "hint": "/tmp/\ufffd"}
    assert answer.text.encode()


def test_an_answer_keeps_its_schema() -> None:
    schema = output_schema(Rows)
    assert schema is not None
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.validate(DATA, schema)


@pytest.mark.parametrize(
    "wrong",
    [
        {**DATA, "seconds": "1"},
        {**DATA, "rows": {}},
        {**DATA, "rows": [{"paneId": 1}]},
        {**DATA, "rows": [{"exitCode": "3"}]},
        {**DATA, "rows": [{"isDead": None}]},
    ],
)
def test_what_is_no_such_answer_does_not_keep_it(wrong: dict[str, Any]) -> None:
    schema = output_schema(Rows)
    assert schema is not None
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate(wrong, schema)
