"""The section [watch] of the configuration, through MCP."""

from __future__ import annotations

from collections.abc import AsyncIterator

import pytest
import pytest_asyncio

from tests.rigs.mcp_client import Rig, serving

pytestmark = pytest.mark.asyncio(loop_scope="module")

CONFIG = """
[watch]
stable_ms = 1
timeout_default_ms = 150
timeout_max_ms = 300
allowed_hosts = ["192.0.2.1"]
"""


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def rig() -> AsyncIterator[Rig]:
    async with serving("all", config=CONFIG) as rig:
        yield rig


async def silent(rig: Rig) -> str:
    made = await rig.call("create-session", name="silent", command="exec sleep 60")
    return str(made["paneId"])


async def test_a_change_is_waited_for_as_long_as_the_configuration_says(rig: Rig) -> None:
    pane = await silent(rig)
    answer = await rig.call("wait-for-pane-change", paneId=pane)
    assert (answer["timedOut"], answer["waitedMs"] >= 150, answer["waitedMs"] < 30_000) == (True, True, True)
    words = await rig.fails("wait-for-pane-change", paneId=pane, timeoutMs=301)
    assert words == "The argument 'timeoutMs' is 301, above watch.timeout_max_ms. Use at most 300."


async def test_a_url_may_name_an_allowed_host_and_no_other(rig: Rig) -> None:
    pane = await silent(rig)
    for allowed in ("http://192.0.2.1/", "https://192.0.2.1:8443/"):
        answer = await rig.call("watch-pane", paneId=pane, triggers=[f"url:{allowed}"], timeout=0)
        assert answer["event"] == "timeout"
    words = await rig.fails("watch-pane", paneId=pane, triggers=["url:http://example.org/"])
    assert "'example.org', which is not this machine" in words
    assert "watch.allowed_hosts" in words
