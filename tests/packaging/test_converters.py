"""The converters of agent frameworks take every tool. Each is tested where it is installed: `.[clients]`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from muxpilot.config.scope import Scope
from muxpilot.tools import TOOLS

ALL = [tool for tool in TOOLS if Scope.ALL in tool.scopes]


def schemas() -> Iterator[tuple[str, dict[str, Any]]]:
    for tool in ALL:
        yield tool.name, json.loads(json.dumps(tool.listing["inputSchema"]))


def parts(schema: Any) -> Iterator[dict[str, Any]]:
    """Yield a schema and all schemas inside it."""
    yield schema
    for inner in schema.get("properties", {}).values():
        yield from parts(inner)
    for inner in schema.get("anyOf", []):
        yield from parts(inner)
    if isinstance(schema.get("items"), dict):
        yield from parts(schema["items"])
    if isinstance(schema.get("additionalProperties"), dict):
        yield from parts(schema["additionalProperties"])


def test_no_schema_has_what_converters_drop_or_refuse() -> None:
    """Converters lose the items of `"type": ["string", "array"]`, and raise on a nested `false`."""
    for name, schema in schemas():
        for part in parts(schema):
            assert isinstance(part.get("type", "anyOf"), str), name
            assert part.get("type") != "array" or "items" in part, name
            assert part.get("additionalProperties") is not False, name
            assert not part.keys() & {"$ref", "$defs", "oneOf", "allOf", "not", "const"}, name


def test_google_genai_takes_every_tool() -> None:
    genai = pytest.importorskip("google.genai.types", reason="google-genai is not installed")
    for name, schema in schemas():
        genai.FunctionDeclaration(name=name, parameters_json_schema=schema)
        made = genai.FunctionDeclaration(
            name=name, parameters=genai.Schema.model_validate(_for_gemini(schema))
        )
        kept = made.parameters.properties or {}
        assert set(kept) == set(schema["properties"]), name
        if "triggers" in kept:
            kinds = {str(row.type).rpartition(".")[2]: row for row in kept["triggers"].any_of}
            assert kinds["ARRAY"].items.type is not None, name


def _for_gemini(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema as clients send it: without keywords that this type of Gemini's does not have."""
    known = {key: value for key, value in schema.items() if key != "additionalProperties"}
    if "properties" in known:
        known["properties"] = {key: _for_gemini(row) for key, row in known["properties"].items()}
    return known


def test_openai_agents_takes_every_tool() -> None:
    strict = pytest.importorskip("agents.strict_schema", reason="openai-agents is not installed")
    loose = set()
    for name, schema in schemas():
        try:
            made = strict.ensure_strict_json_schema(schema)
        except Exception:  # noqa: BLE001 - whatever it raises, the framework then sends the schema as it is
            loose.add(name)
            continue
        assert set(made["required"]) == set(made["properties"]), name
    # Free-form objects (env, offsets) cannot be strict.
    assert loose == {tool.name for tool in ALL if _has_map(tool.listing["inputSchema"])}


def _has_map(schema: dict[str, Any]) -> bool:
    return any(isinstance(part.get("additionalProperties"), dict) for part in parts(schema))


def test_langchain_takes_every_tool() -> None:
    pytest.importorskip("langchain_mcp_adapters", reason="langchain-mcp-adapters is not installed")
    structured = pytest.importorskip("langchain_core.tools").StructuredTool
    convert = pytest.importorskip("langchain_core.utils.function_calling").convert_to_openai_tool
    for name, schema in schemas():
        made = structured(name=name, description="x", args_schema=schema, func=lambda: None)
        found = convert(made)["function"]["parameters"]["properties"]
        assert set(found) == set(schema["properties"]), name


def test_pydantic_ai_takes_every_tool() -> None:
    profiles = pytest.importorskip("pydantic_ai.profiles.openai", reason="pydantic-ai is not installed")
    for name, schema in schemas():
        made = profiles.OpenAIJsonSchemaTransformer(schema, strict=None).walk()
        assert set(made["properties"]) == set(schema["properties"]), name
