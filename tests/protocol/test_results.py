"""Results of each revision, streams of changes and questions, checked with the SDK's models."""

from __future__ import annotations

import json
from typing import Any

import mcp_types.methods as sdk_methods
import pytest

from muxpilot.protocol.change_streams import mark_stream, parse_filter
from muxpilot.protocol.elicitation import (
    Elicitation,
    InputRequired,
    PersonAnswer,
    can_ask,
    find_answer,
    parse_answer,
)
from muxpilot.protocol.messages import JsonText, Result, to_json_text
from muxpilot.protocol.phases import RequestFacts
from muxpilot.protocol.results import ResultFinisher
from muxpilot.protocol.revisions import REVISIONS
from muxpilot.protocol.rpc_errors import ProtocolError

INFO = {"name": "muxpilot", "version": "1"}
RESULTS: dict[str, dict[str, Any]] = {
    "tools/list": {"tools": [{"name": "a", "inputSchema": {"type": "object"}}]},
    "tools/call": {"content": [{"type": "text", "text": "x"}], "isError": False},
    "resources/list": {"resources": []},
    "resources/templates/list": {"resourceTemplates": []},
    "resources/read": {"contents": [{"uri": "tmux://sessions", "text": "x"}]},
    "prompts/list": {"prompts": []},
    "prompts/get": {"messages": []},
    "completion/complete": {"completion": {"values": []}},
}
MODERN = REVISIONS["2026-07-28"]
FORM = Elicitation("k", "Your name?", {"type": "object", "properties": {"name": {"type": "string"}}})
PAGE = Elicitation("k", "Log in", url="http://localhost/x")


def as_data(result: Result) -> Any:
    return json.loads(result) if isinstance(result, JsonText) else result


@pytest.mark.parametrize("version", REVISIONS)
@pytest.mark.parametrize("method", RESULTS)
def test_a_result_is_one_of_its_revision(method: str, version: str) -> None:
    finisher = ResultFinisher(INFO)
    plain = RESULTS[method]
    for result in (plain, to_json_text(plain)):
        data = as_data(finisher.finish(method, result, REVISIONS[version]))
        sdk_methods.validate_server_result(method, version, data)
        assert {key: data[key] for key in plain} == plain
        if REVISIONS[version].has_handshake:
            assert data == plain
        else:
            assert data["resultType"] == "complete"
            assert data["_meta"] == {"io.modelcontextprotocol/serverInfo": INFO}
            assert ("ttlMs" in data) == (method in sdk_methods.CACHEABLE_METHODS)


def test_a_result_keeps_its_own_meta() -> None:
    found = as_data(ResultFinisher(INFO).finish("subscriptions/listen", mark_stream(7), MODERN))
    assert found["_meta"]["io.modelcontextprotocol/subscriptionId"] == 7
    assert found["_meta"]["io.modelcontextprotocol/serverInfo"] == INFO


def test_a_filter_is_what_can_be_delivered() -> None:
    wanted = {
        "resourceSubscriptions": ["a", "b", "a"],
        "resourcesListChanged": True,
        "toolsListChanged": True,
    }
    found = parse_filter({"notifications": wanted})
    assert found.to_json() == {"resourceSubscriptions": ["a", "b"], "resourcesListChanged": True}
    assert parse_filter({"notifications": {"resourcesListChanged": False}}).to_json() == {}


@pytest.mark.parametrize(
    "wanted",
    [{"resourceSubscriptions": "a"}, {"resourceSubscriptions": [1]}, {"resourcesListChanged": "yes"}],
)
def test_a_filter_of_the_wrong_type_is_refused(wanted: dict[str, Any]) -> None:
    with pytest.raises(ProtocolError):
        parse_filter({"notifications": wanted})


@pytest.mark.parametrize(
    ("version", "declared", "modes"),
    [
        ("2025-03-26", {"elicitation": {}}, set()),
        ("2025-06-18", {"elicitation": {}}, {"form"}),
        ("2025-06-18", {"elicitation": {"url": {}}}, set()),
        ("2025-11-25", {}, set()),
        ("2025-11-25", {"elicitation": {}}, {"form"}),
        ("2025-11-25", {"elicitation": {"url": {}}}, {"url"}),
        ("2026-07-28", {"elicitation": {"form": {}, "url": {}}}, {"form", "url"}),
        ("2026-07-28", {"elicitation": None}, set()),
    ],
)
def test_a_client_is_asked_only_as_it_can(version: str, declared: dict[str, Any], modes: set[str]) -> None:
    facts = RequestFacts(REVISIONS[version], declared, None)
    assert {mode for mode in ("form", "url") if can_ask(facts, mode)} == modes


@pytest.mark.parametrize("question", [FORM, PAGE], ids=["form", "page"])
def test_a_question_without_connection_is_a_result_that_the_sdk_accepts(question: Elicitation) -> None:
    result = as_data(
        ResultFinisher(INFO).finish("tools/call", InputRequired((question,)).to_result(), MODERN)
    )
    assert result["resultType"] == "input_required"
    assert "ttlMs" not in result
    sdk_methods.validate_server_result("tools/call", "2026-07-28", result)
    assert list(result["inputRequests"]) == ["k"]


def test_the_answer_comes_with_the_repeated_request() -> None:
    assert find_answer({"name": "x"}, "k") is None
    given = {"inputResponses": {"k": {"action": "accept", "content": {"name": "Ada"}}}}
    assert find_answer(given, "k") == PersonAnswer("accept", {"name": "Ada"})
    assert find_answer(given, "other") is None


@pytest.mark.parametrize("answer", [None, [], {}, {"action": "x"}, {"action": "accept", "content": 3}])
def test_an_answer_of_the_wrong_shape_is_refused(answer: Any) -> None:
    with pytest.raises(ProtocolError):
        parse_answer(answer)
