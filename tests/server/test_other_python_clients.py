"""The Python SDK's client 1.x and FastMCP use the server over both transports, where they can be had."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from muxpilot.config.scope import Scope
from muxpilot.tools import RESOURCES, TOOLS
from tests.rigs.client_venvs import INSTALL_LIMIT_S, python_with, run_client
from tests.rigs.http_server import serving_http
from tests.rigs.wire import command, private_place

pytestmark = pytest.mark.timeout(3 * INSTALL_LIMIT_S)


@pytest.fixture(params=["old_client.py", "fastmcp_client.py"], ids=["SDK 1.x", "FastMCP"])
def script(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def python(script: str) -> Path:
    wanted = {"old_client.py": ("mcp>=1.30,<2", "python-sdk-1"), "fastmcp_client.py": ("fastmcp", "fastmcp")}
    found = python_with(*wanted[script])
    if isinstance(found, str):
        pytest.skip(found)
    return found


def expected(script: str, scope: Scope) -> dict[str, Any]:
    tools = sum(scope in tool.scopes for tool in TOOLS)
    seen = {"tools": tools, "prompts": 3, "read": 1, "failed": True}
    if script == "old_client.py":
        return {**seen, "version": "2025-11-25"}
    templates = sum("{" in row.template for row in RESOURCES)
    return {**seen, "version": "2026-07-28", "templates": templates, "typed": True}


async def test_the_client_drives_the_server_over_stdio(python: Path, script: str) -> None:
    with private_place() as place:
        seen = await run_client(python, script, place, "stdio", *command("--socket", place.socket))
    assert seen == expected(script, Scope.AGENTIC)


async def test_the_client_drives_the_server_over_http(python: Path, script: str) -> None:
    with private_place() as place:
        async with serving_http(place) as (web, _):
            seen = await run_client(python, script, place, web.url)
    assert seen == expected(script, Scope.ALL)
