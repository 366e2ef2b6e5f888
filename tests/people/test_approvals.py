"""Calls that a person must allow first: by the client's form, by a popup, or refused where no person is."""

from __future__ import annotations

import asyncio
import json
import os
import pwd
import socket as sockets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import mcp_types as types
import pytest
from mcp.client.client import Client
from mcp.shared.exceptions import MCPError

from muxpilot.app import build
from muxpilot.config.flags import load_settings
from muxpilot.server import http_server
from tests.rigs.asking import see_popup, start_asking
from tests.rigs.engine import attach_person, wait_until
from tests.rigs.wire import LIMIT_S, TMUX, Place, private_place

ALLOW_ONCE, FOR_SESSION, DENY = "allow once", "allow for this session", "deny"


@asynccontextmanager
async def serving(place: Place, toml: str) -> AsyncIterator[str]:
    """Serve HTTP under a policy. Yield the address."""
    config, log = place.home / "config.toml", place.home / "audit"
    config.write_text(toml)
    settings = load_settings({}, scope="all", socket=place.socket, config=str(config), audit=str(log))
    listener, stopped = sockets.create_server(("127.0.0.1", 0)), asyncio.Event()
    running = asyncio.create_task(
        http_server.run(build(settings), [listener], token=None, stopped=stopped, others=None)
    )
    try:
        yield http_server.address(listener)
    finally:
        stopped.set()
        await asyncio.wait_for(running, LIMIT_S)


class Person:
    """The person at a client: gives these answers, and keeps what they were asked."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.asked: list[Any] = []

    async def answer(self, context: Any, params: Any) -> types.ElicitResult:
        self.asked.append(params)
        return types.ElicitResult(action="accept", content={"answer": self._answers.pop(0)})


def audit_of(place: Place) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (place.home / "audit").read_text().splitlines()]


def has_session(place: Place, name: str) -> bool:
    return name in place.tmux("list-sessions", "-F", "#{session_name}").splitlines()


async def call(client: Client, tool: str, **arguments: Any) -> Any:
    return await client.call_tool(tool, arguments, read_timeout_seconds=LIMIT_S)


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
@pytest.mark.parametrize("said", [ALLOW_ONCE, DENY])
async def test_a_kill_is_done_only_if_the_clients_person_allows_it(mode: Any, said: str) -> None:
    person = Person(said)
    with private_place() as place:
        for name in ("keep", "dev"):
            place.tmux("new-session", "-d", "-s", name, "exec cat")
        async with (
            serving(place, '[security]\nask = ["@kill"]\n') as url,
            Client(url, mode=mode, elicitation_callback=person.answer) as client,
        ):
            result = await call(client, "kill-session", sessionId="dev")
        assert has_session(place, "dev") is (said == DENY)
        [asked] = person.asked
        assert "Allow kill-session?" in asked.message
        assert "sessionId: dev ($" in asked.message
        assert "security.ask" in asked.message
        approval = audit_of(place)[-1]["approval"]
        person_at_client = "MCP client mcp"
    assert result.is_error is (said == DENY)
    assert approval == {
        "key": "security.ask",
        "how": "elicitation",
        "said": said,
        "asked": [person_at_client],
        "by": person_at_client,
    }
    if said == DENY:
        text = result.content[0].text
        assert text.startswith("kill-session is denied by security.ask: a person said no (elicitation).")


async def test_what_is_allowed_for_the_session_is_asked_again_only_if_it_differs() -> None:
    person = Person(FOR_SESSION, ALLOW_ONCE, DENY)
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "keep", "exec cat")
        async with (
            serving(place, '[security]\nask = ["set-buffer"]\n') as url,
            Client(url, mode="legacy", elicitation_callback=person.answer) as client,
        ):
            for _ in range(3):
                assert not (await call(client, "set-buffer", name="a", content="one")).is_error
            assert len(person.asked) == 1
            assert not (await call(client, "set-buffer", name="a", content="two")).is_error
            assert (await call(client, "set-buffer", name="a", content="two")).is_error
            assert place.tmux("show-buffer", "-b", "a") == "two"
        async with (
            serving(place, '[security]\nask = ["set-buffer"]\n') as url,
            Client(url, mode="legacy", elicitation_callback=Person(DENY).answer) as other,
        ):
            assert (await call(other, "set-buffer", name="a", content="one")).is_error
    assert len(person.asked) == 3


@pytest.mark.parametrize(
    ("toml", "key"),
    [
        ('[security.command_filter]\nmode = "ask"\npatterns = ["^rm "]\n', "security.command_filter"),
        ('[security]\npreset = "guarded"\n', "security.preset"),
    ],
)
async def test_a_command_that_matches_is_asked_about_and_others_run(toml: str, key: str) -> None:
    person = Person(DENY, ALLOW_ONCE)
    with private_place() as place:
        target = place.home / "precious"
        target.touch()
        sudo = place.home / "sudo"
        sudo.write_text('#!/bin/sh\nexec "$@"\n')
        sudo.chmod(0o755)
        command = f"rm {target}" if "filter" in key else f"{sudo} rm {target}"
        async with (
            serving(place, toml) as url,
            Client(url, mode="legacy", elicitation_callback=person.answer) as client,
        ):
            plain = await call(client, "execute-command", command="echo plain")
            assert plain.structured_content["output"] == "plain\n"
            assert not person.asked
            refused = await call(client, "execute-command", command=command)
            assert refused.is_error
            assert key in refused.content[0].text
            assert target.exists()
            done = await call(client, "execute-command", command=command)
            assert done.structured_content["exitCode"] == 0
            assert not target.exists()
    assert all(f"command: {command}" in asked.message for asked in person.asked)


async def test_a_person_at_the_terminal_allows_a_call_in_a_popup() -> None:
    with private_place() as place:
        for name in ("dev", "old"):
            place.tmux("new-session", "-d", "-s", name, "exec cat")
        (place.home / "c.toml").write_text('[security]\nask = ["kill-session"]\n')
        async with (
            place.serve(
                *(
                    "--scope",
                    "all",
                    "--config",
                    str(place.home / "c.toml"),
                    "--audit",
                    str(place.home / "audit"),
                )
            ) as wire,
            attach_person(TMUX, place.socket, "attach", "-t", "=dev") as person,
        ):
            await wire.shake_hands()
            pending = await wire.start_call("kill-session", sessionId="old")
            await see_popup(person)
            assert has_session(place, "old")
            person.press("1\r")
            message = await asyncio.wait_for(pending, LIMIT_S)
        assert not message["result"]["isError"], message
        assert not has_session(place, "old")
        approval = audit_of(place)[-1]["approval"]
        user = pwd.getpwuid(os.getuid()).pw_name
        assert (approval["how"], approval["said"]) == ("popup", ALLOW_ONCE)
        assert approval["by"].startswith(f"{user} at {person.tty} (tmux client ")
        assert approval["by"].endswith(", session dev)")
        assert approval["asked"] == [approval["by"]]


async def test_a_cancelled_approval_names_in_the_audit_who_was_asked(tmp_path: Path) -> None:
    config, audit = tmp_path / "c.toml", tmp_path / "audit"
    config.write_text('[security]\nask = ["kill-session"]\n')
    flags = ("--config", str(config), "--audit", str(audit))
    async with start_asking(*flags) as asking, asking.person() as person:
        pending = await asking.wire.start_call("kill-session", sessionId="dev")
        await see_popup(person)
        await asking.wire.notify("notifications/cancelled", {"requestId": pending.id})
        await wait_until(lambda: "kill-session" in audit.read_text())
        line = json.loads(audit.read_text().splitlines()[-1])
        assert [f" at {person.tty} (" in who for who in line["asked"]] == [True]
        assert has_session(asking.place, "dev")


@pytest.mark.parametrize("mode", ["legacy", "2026-07-28"])
async def test_a_resource_is_read_only_if_the_clients_person_allows_its_tool(mode: Any) -> None:
    person = Person(DENY, ALLOW_ONCE)
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "dev", "exec cat")
        async with (
            serving(place, '[security]\nask = ["list-sessions"]\n') as url,
            Client(url, mode=mode, elicitation_callback=person.answer) as client,
        ):
            with pytest.raises(MCPError, match="a person said no"):
                await client.read_resource("tmux://sessions")
            result = await client.read_resource("tmux://sessions")
        said = [row["approval"]["said"] for row in audit_of(place) if "approval" in row]
    [content] = result.contents
    assert isinstance(content, types.TextResourceContents)
    assert [row["name"] for row in json.loads(content.text)["sessions"]] == ["dev"]
    assert said == [DENY, ALLOW_ONCE]


async def test_the_audit_names_the_client_whose_person_has_not_answered_in_time() -> None:
    asked = asyncio.Event()

    async def wait_too_long(context: Any, params: Any) -> types.ElicitResult:
        asked.set()
        await asyncio.Event().wait()
        raise AssertionError

    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "dev", "exec cat")
        toml = '[security]\nask = ["@kill"]\nask_timeout_seconds = 4\n'
        async with (
            serving(place, toml) as url,
            Client(url, mode="legacy", elicitation_callback=wait_too_long) as client,
        ):
            result = await call(client, "kill-session", sessionId="dev")
        assert has_session(place, "dev")
        approval = audit_of(place)[-1]["approval"]
    assert result.is_error
    assert asked.is_set()
    assert approval == {
        "key": "security.ask",
        "how": "elicitation: no answer within 4 s",
        "said": "no answer",
        "asked": ["MCP client mcp"],
        "by": "",
    }


async def test_without_a_person_the_refusal_says_how_to_let_one_in() -> None:
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "dev", "exec cat")
        (place.home / "c.toml").write_text('[security]\nask = ["kill-session"]\n')
        async with place.serve("--scope", "all", "--config", str(place.home / "c.toml")) as wire:
            await wire.shake_hands()
            message = await asyncio.wait_for(await wire.start_call("kill-session", sessionId="dev"), LIMIT_S)
        text = message["result"]["content"][0]["text"]
        assert has_session(place, "dev")
    assert message["result"]["isError"]
    assert "kill-session is denied by security.ask: a person must allow it, and none could be asked." in text
    assert f"-S {place.socket} attach-session -t =dev" in text


async def test_no_answer_in_time_refuses_the_call_and_says_so() -> None:
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "dev", "exec cat")
        (place.home / "c.toml").write_text('[security]\nask = ["kill-session"]\nask_timeout_seconds = 1\n')
        async with (
            place.serve("--scope", "all", "--config", str(place.home / "c.toml")) as wire,
            attach_person(TMUX, place.socket, "attach", "-t", "=dev"),
        ):
            await wire.shake_hands()
            message = await asyncio.wait_for(await wire.start_call("kill-session", sessionId="dev"), LIMIT_S)
        assert has_session(place, "dev")
    text = message["result"]["content"][0]["text"]
    assert text.endswith("no answer within 1 s). Call again when a person is there to answer.")


async def test_guarded_keeps_off_the_panes_of_people_and_read_only_off_all() -> None:
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "theirs", "exec cat")
        pane = place.tmux("display-message", "-p", "-t", "theirs", "#{pane_id}")
        for preset, own_runs in (("guarded", True), ("read-only", False)):
            config = place.home / f"{preset}.toml"
            config.write_text(f'[security]\npreset = "{preset}"\n')
            async with place.serve("--scope", "all", "--config", str(config)) as wire:
                await wire.shake_hands()
                assert await wire.call("read-pane", paneId=pane)
                typed = await (await wire.start_call("send-keys", paneId=pane, keys="x"))
                own = await (await wire.start_call("execute-command", command="true"))
            assert is_refused(typed), typed
            assert is_refused(own) is not own_runs, own


async def test_guarded_asks_about_kills_and_sudo_and_redacts_what_panes_show() -> None:
    token = "ghp_" + "a1B2" * 9
    with private_place() as place:
        config = place.home / "guarded.toml"
        config.write_text('[security]\npreset = "guarded"\n')
        async with place.serve("--scope", "all", "--config", str(config)) as wire:
            await wire.shake_hands()
            shown = await wire.call("execute-command", command=f"echo {token}; echo {token} | wc -c")
            asked = [
                await (await wire.start_call("kill-pane", paneId="main")),
                await (await wire.start_call("execute-command", command="sudo -n touch sudo-ran")),
            ]
            panes = (await wire.call("list-panes"))["panes"]
            seen = await wire.call("capture-pane", paneId="main")
        assert not (place.home / "sudo-ran").exists()
    assert shown["output"].split() == ["[redacted]", str(len(token) + 1)]
    assert token not in seen
    for message in asked:
        assert is_refused(message), message
        assert "attach" in message["result"]["content"][0]["text"]  # no person is there
    assert [row["pane"] for row in panes] == ["main"]


def is_refused(message: dict[str, Any]) -> bool:
    return "error" in message or message["result"]["isError"]


def test_a_key_of_the_file_wins_over_its_preset(tmp_path: Path) -> None:
    config = tmp_path / "c.toml"
    config.write_text('[security]\npreset = "guarded"\nallow_foreign = true\n')
    security = load_settings({}, config=str(config)).security
    assert (security.allow_foreign, security.ask, security.redact) == (True, ("@kill",), True)


RM_ASKS = '[security.command_filter]\nmode = "ask"\npatterns = ["^rm "]\n'


async def type_rm(client: Client, place: Place, name: str) -> Path:
    """Type `rm FILE` at the prompt of the session `work`, without Enter. Return the file."""
    file = place.home / name
    file.touch()
    assert not (await call(client, "send-keys", paneId="work:0.0", keys=f"rm {file}")).is_error
    return file


async def test_a_line_that_was_allowed_for_the_session_allows_no_other_line() -> None:
    person = Person(FOR_SESSION, DENY)
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "work", "sh")
        async with (
            serving(place, RM_ASKS) as url,
            Client(url, mode="legacy", elicitation_callback=person.answer) as client,
        ):
            first = await type_rm(client, place, "first")
            assert not (await call(client, "send-enter", paneId="work:0.0")).is_error
            await wait_until(lambda: not first.exists())
            second = await type_rm(client, place, "second")
            assert (await call(client, "send-enter", paneId="work:0.0")).is_error
            assert second.exists()
    assert len(person.asked) == 2


async def test_a_line_that_changes_while_the_person_decides_is_not_entered() -> None:
    with private_place() as place:
        place.tmux("new-session", "-d", "-s", "work", "sh")
        other_file = place.home / "other"
        other_file.touch()
        async with serving(place, RM_ASKS) as url, Client(url, mode="legacy") as other:

            async def allow_after_change(context: Any, params: Any) -> types.ElicitResult:
                """Let another client type more into the line, and then allow the call."""
                assert not (await call(other, "send-keys", paneId="work:0.0", keys=f" {other_file}")).is_error
                return types.ElicitResult(action="accept", content={"answer": ALLOW_ONCE})

            async with Client(url, mode="legacy", elicitation_callback=allow_after_change) as client:
                file = await type_rm(client, place, "file")
                result = await call(client, "send-enter", paneId="work:0.0")
            assert result.is_error
            assert (file.exists(), other_file.exists()) == (True, True)
