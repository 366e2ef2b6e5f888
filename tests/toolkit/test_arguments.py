"""Arguments: from a signature to a schema, and from a call to the arguments of a function."""

from __future__ import annotations

from typing import Annotated, Any

import jsonschema
import pytest

from muxpilot.errors import BadInput
from muxpilot.tmux import PaneId
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.arguments import arguments_of, input_schema, parse_arguments, schema_for_listing
from muxpilot.tools import TOOLS


async def example(
    ctx: object,
    pane_id: PaneId,
    text: Annotated[str, "What to say"],
    max_lines: Annotated[int, "At most", Between(1, 9)] = 5,
    since: Annotated[str | None, "A cursor"] = None,
) -> None: ...


ARGUMENTS = arguments_of(example)
GOOD = {"paneId": "%1", "text": "hi"}


def test_the_schema_says_it_all() -> None:
    schema = input_schema(ARGUMENTS)
    jsonschema.Draft202012Validator.check_schema(schema)
    assert schema == {
        "type": "object",
        "properties": {
            "paneId": {"type": "string", "description": "Name or %3"},
            "text": {"type": "string", "description": "What to say"},
            "maxLines": {
                "type": "integer",
                "minimum": 1,
                "maximum": 9,
                "description": "At most",
                "default": 5,
            },
            "since": {"type": "string", "description": "A cursor"},
        },
        "required": ["paneId", "text"],
        "additionalProperties": False,
    }


@pytest.mark.parametrize(
    ("given", "values"),
    [
        (GOOD, {"pane_id": "%1", "text": "hi", "max_lines": 5, "since": None}),
        ({"pane_id": "%1", "text": "hi"}, {"pane_id": "%1", "text": "hi", "max_lines": 5, "since": None}),
        ({**GOOD, "max_lines": 2}, {"pane_id": "%1", "text": "hi", "max_lines": 2, "since": None}),
        ({**GOOD, "maxLines": None}, {"pane_id": "%1", "text": "hi", "max_lines": 5, "since": None}),
    ],
)
def test_good_arguments_arrive_by_their_python_names(given: dict[str, Any], values: dict[str, Any]) -> None:
    assert parse_arguments(ARGUMENTS, given) == values


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"text": "hi"}, "The argument 'paneId' is missing. It is: Name or %3."),
        ({"paneId": "%1"}, "The argument 'text' is missing. It is: What to say."),
        ({**GOOD, "text": None}, "The argument 'text' must be a string, not null."),
        ({**GOOD, "maxLines": 10}, "The argument 'maxLines' must be from 1 to 9, not 10."),
        ({**GOOD, "max_lines": 10}, "The argument 'maxLines' must be from 1 to 9, not 10."),
        ({**GOOD, "pane_id": "%1"}, "The argument 'paneId' is given twice. Use one spelling."),
        ({**GOOD, "Text": ""}, "no argument 'Text'. The arguments are: paneId, text, maxLines, since."),
        ({**GOOD, "x\ny" * 99: ""}, "There is no argument 'x\\nyx"),
    ],
)
def test_bad_arguments_are_named(given: dict[str, Any], words: str) -> None:
    with pytest.raises(BadInput) as caught:
        parse_arguments(ARGUMENTS, given)
    assert words in str(caught.value)
    assert len(str(caught.value)) < 200
    assert "\n" not in str(caught.value)


def test_a_tool_without_arguments_says_so() -> None:
    with pytest.raises(BadInput, match="The arguments are: none"):
        parse_arguments((), {"x": 1})


def test_an_argument_without_a_description_is_a_mistake_in_a_tool() -> None:
    async def silent(ctx: object, text: str) -> None: ...

    with pytest.raises(TypeError, match="text has no description"):
        arguments_of(silent)


def test_a_listing_leaves_out_wide_limits_and_false() -> None:
    wide, narrow = {"minimum": 0, "maximum": 1000}, {"minimum": 1, "maximum": 99, "default": 0}
    properties = {"wide": wide, "narrow": narrow, "flag": {"default": False}}
    schema = {"type": "object", "properties": properties, "additionalProperties": False}
    shown = {"wide": {}, "narrow": narrow, "flag": {}}
    assert schema_for_listing(schema) == {"type": "object", "properties": shown}
    assert properties["wide"] == {"minimum": 0, "maximum": 1000}


def test_an_empty_text_for_an_optional_id_means_that_it_is_not_given() -> None:
    """Strict conversions make every argument required: clients then send "" for those that they leave out."""
    by_name = {tool.name: tool for tool in TOOLS}
    for name in ("list-panes", "list-windows", "list-commands"):
        tool = by_name[name]
        empty = {row.wire_name: "" for row in tool.arguments if row.may_be_empty}
        assert "socket" in empty
        assert parse_arguments(tool.arguments, empty) == parse_arguments(tool.arguments, {})
    asked = parse_arguments(by_name["ask-person"].arguments, {"question": "Which?", "paneId": ""})
    assert asked == parse_arguments(by_name["ask-person"].arguments, {"question": "Which?"})
    with pytest.raises(BadInput):
        parse_arguments(by_name["kill-pane"].arguments, {"paneId": ""})


def test_an_empty_text_is_never_the_pane_main() -> None:
    tool = next(tool for tool in TOOLS if tool.name == "send-keys")
    assert [row.wire_name for row in tool.arguments if row.may_be_empty] == ["socket"]
