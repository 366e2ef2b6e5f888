"""The Python SDK's client 1.x uses the server over both transports, where that SDK can be installed."""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from muxpilot.config.scope import Scope
from muxpilot.tools import TOOLS
from tests.contract.source import ROOT
from tests.rigs.http_server import serving_http
from tests.rigs.wire import LIMIT_S, Place, command, environment, private_place

INSTALL_LIMIT_S = 180
CLIENT = Path(__file__).parents[1] / "rigs" / "old_client.py"

pytestmark = pytest.mark.timeout(2 * INSTALL_LIMIT_S)


@cache
def old_sdk() -> Path | str:
    """Return a Python that has the SDK 1.x, or why there is none. The first run installs it."""
    folder = ROOT / ".cache" / "python-sdk-1"
    python = folder / "bin" / "python"
    if not (folder / "installed").exists():
        argv = [str(python), "-m", "pip", "install", "--quiet", "mcp>=1.30,<2"]
        try:
            subprocess.run([sys.executable, "-m", "venv", str(folder)], check=True, timeout=INSTALL_LIMIT_S)
            subprocess.run(argv, check=True, timeout=INSTALL_LIMIT_S, capture_output=True)
        except (OSError, subprocess.SubprocessError) as error:
            return f"the SDK 1.x cannot be installed: {type(error).__name__}"
        (folder / "installed").touch()
    return python


@pytest.fixture
def python() -> Path:
    found = old_sdk()
    if isinstance(found, str):
        pytest.skip(found)
    return found


async def run_client(python: Path, place: Place, *args: str) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        *(str(python), str(CLIENT), *args),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=environment(place.home),
    )
    out, said = await asyncio.wait_for(process.communicate(), 2 * LIMIT_S)
    assert process.returncode == 0, said.decode()
    seen: dict[str, Any] = json.loads(out)
    return seen


def expected(scope: Scope) -> dict[str, Any]:
    tools = sum(scope in tool.scopes for tool in TOOLS)
    return {"version": "2025-11-25", "tools": tools, "prompts": 3, "read": 1, "failed": True}


async def test_the_old_client_drives_the_server_over_stdio(python: Path) -> None:
    with private_place() as place:
        seen = await run_client(python, place, "stdio", *command("--socket", place.socket))
    assert seen == expected(Scope.AGENTIC)


async def test_the_old_client_drives_the_server_over_http(python: Path) -> None:
    with private_place() as place:
        async with serving_http(place) as (web, _):
            seen = await run_client(python, place, web.url)
    assert seen == expected(Scope.ALL)
