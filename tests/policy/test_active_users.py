"""What every policy protects: muxpilot's own pane, people who type, the environment, and readers."""

from __future__ import annotations

import asyncio
import json
import os
import pty
import shutil
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from muxpilot.app import build
from muxpilot.config.flags import load_settings
from tests.rigs.mcp_client import clean_environment, serving
from tests.rigs.policies import TMUX, AppUnderPolicy, Policy, PolicyPlace
from tests.rigs.waiting import end_server, eventually

# Our own pane, people, environment


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("kill-pane", {"paneId": "OWN"}),
        ("kill-window", {"windowId": "dev:first"}),
        ("kill-session", {"sessionId": "dev"}),
        ("send-keys", {"paneId": "OWN", "keys": "x"}),
        ("send-enter", {"paneId": "OWN"}),
        ("paste-text", {"paneId": "OWN", "content": "x"}),
        ("respawn-pane", {"paneId": "OWN", "kill": True}),
        ("execute-command", {"paneId": "OWN", "command": "true"}),
    ],
)
async def test_the_server_never_ends_or_types_into_its_own_pane(
    under: Policy, place: PolicyPlace, monkeypatch: pytest.MonkeyPatch, tool: str, arguments: dict[str, Any]
) -> None:
    own = place.panes["one"]
    monkeypatch.setenv("TMUX", f"{place.socket},1,0")
    monkeypatch.setenv("TMUX_PANE", own)
    given = {key: own if value == "OWN" else value for key, value in arguments.items()}
    async with under("[security]\nenabled = false") as it:
        await it.check_denied("own-pane protection", tool, **given)
        await it.call("capture-pane", paneId=own)
        await it.call("send-keys", paneId=place.panes["far"], keys=" ")
    assert own in place.ids("pane_id")


async def test_no_other_spelling_of_its_pane_gets_past_that(
    under: Policy, place: PolicyPlace, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = place.panes["one"]
    monkeypatch.setenv("TMUX", f"{place.socket},1,0")
    monkeypatch.setenv("TMUX_PANE", own)
    async with under("[security]\nenabled = false") as it:
        refused = await it.app.dispatch.call("kill-pane", {"paneId": own.replace("%", "%0")})
    assert refused.is_error, "tmux itself would take it for the same pane"
    assert own in place.ids("pane_id")


@asynccontextmanager
async def attach_person(place: PolicyPlace, session: str) -> AsyncIterator[int]:
    """Attach a person's terminal to a session. Yield the descriptor to type into."""
    hands, screen = pty.openpty()
    argv = [TMUX, "-S", place.socket, "attach-session", "-t", session]
    process = await asyncio.create_subprocess_exec(
        *argv,
        stdin=screen,
        stdout=screen,
        stderr=screen,
        env=clean_environment(place.folder),
        start_new_session=True,
    )
    os.close(screen)
    loop = asyncio.get_running_loop()
    loop.add_reader(hands, lambda: os.read(hands, 65536))
    try:

        async def attached() -> bool:
            return place.raw("list-clients", "-F", "#{client_name}").count("/dev/") > 0

        await eventually(attached)
        yield hands
    finally:
        loop.remove_reader(hands)
        place.raw("detach-client", "-a")
        with suppress(ProcessLookupError):  # the client may have left as soon as it was detached
            process.kill()
        await process.wait()
        os.close(hands)


async def test_a_person_who_is_typing_is_waited_for(under: Policy, place: PolicyPlace) -> None:
    pane = place.panes["far"]
    async with under("[security]\nperson_pause_seconds = 5") as it:
        await it.call("send-keys", paneId=pane, keys=" ")
        await check_waiting_for_a_person(it, place, pane)
    async with under("[security]\nperson_pause_seconds = 0") as it, attach_person(place, "other") as hands:
        await type_until_seen(place, hands)
        typing = asyncio.create_task(type_on(hands))
        await it.call("send-keys", paneId=pane, keys=" ")
        assert not typing.done()
        typing.cancel()


async def type_until_seen(place: PolicyPlace, hands: int) -> None:
    """Type as a person until tmux has noted it: it counts whole seconds."""

    async def is_seen() -> bool:
        os.write(hands, b" ")
        ask = "#{?#{e|>:#{client_activity},#{client_created}},yes,}"
        return "yes" in place.raw("list-clients", "-F", ask)

    await eventually(is_seen)


async def type_on(hands: int) -> None:
    """Type without a pause. A call that waits for one fails at its deadline."""
    while True:
        os.write(hands, b" ")
        await asyncio.sleep(0.1)


async def check_waiting_for_a_person(it: AppUnderPolicy, place: PolicyPlace, pane: str) -> None:
    async with attach_person(place, "other") as hands:
        await it.call("send-keys", paneId=pane, keys=" ")  # who only looks on is in nobody's way
        await type_until_seen(place, hands)
        sending = [asyncio.create_task(it.call("send-keys", paneId=pane, keys=" ")) for _ in range(3)]
        await it.call("list-panes")
        assert not any(task.done() for task in sending)
        await it.call("send-keys", paneId=place.panes["one"], keys=" ")  # another pane is free
        assert not any(task.done() for task in sending)
        await asyncio.gather(*sending)


async def test_what_takes_long_to_judge_is_not_overtaken(
    under: Policy, place: PolicyPlace, tmp_path: Path
) -> None:
    file = tmp_path / "typed"
    pane = place.raw("new-session", "-dP", "-F", "#{pane_id}", "-s", "typed", f"cat >{file}")
    texts = [f"{number}-{'x' * 300 * (1 - number % 2)}\n" for number in range(8)]
    async with under('[security.command_filter]\nmode = "denylist"\npatterns = ["^never$"]') as it:
        await asyncio.gather(*(it.call("send-keys", paneId=pane, keys=text) for text in texts))
    wanted = "".join(texts)

    async def typed() -> str:
        text = file.read_text() if file.exists() else ""
        return text if len(text) >= len(wanted) else ""

    assert await eventually(typed) == wanted


async def test_secrets_of_our_environment_reach_no_pane(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(tempfile.mkdtemp(prefix="mx", dir="/tmp"))
    path = tmp_path / "c.toml"
    path.write_text('[security]\npass_environment = ["MY_*"]\n')
    secrets = {"ANTHROPIC_API_KEY", "AWS_SECRET_ACCESS_KEY", "DATABASE_URL", "NIX_CONFIG"}
    for name in ("MY_OWN", "LC_TIME", "NIX_PATH", *secrets):
        monkeypatch.setenv(name, "C")
    app = build(load_settings({}, scope="all", socket=str(folder / "s"), config=str(path)))
    try:
        await AppUnderPolicy(app).call(
            "create-session",
            name="x",
            command=f"env > {folder}/env.new; mv {folder}/env.new {folder}/env; cat",
        )

        async def is_seen() -> bool:
            return (folder / "env").exists()

        await eventually(is_seen)
        names = {line.partition("=")[0] for line in (folder / "env").read_text().splitlines()}
        assert {"PATH", "HOME", "LC_TIME", "MY_OWN", "NIX_PATH"} <= names
        assert not names & secrets
    finally:
        await app.close()
        end_server(TMUX, str(folder / "s"))
        shutil.rmtree(folder, ignore_errors=True)


# By the protocol


async def test_a_client_sees_the_policy(monkeypatch: pytest.MonkeyPatch) -> None:
    toml = '[security]\nallow_kill = false\nallowed_sessions = ["dev"]\n'
    async with serving("all", keeper=False, config=toml) as rig:
        assert "kill-pane" not in rig.tools
        made = await rig.session_of_ours("dev")
        hidden = rig.session_of_a_person("hidden")
        assert "security.allow_kill" in await rig.fails("kill-pane", paneId=made.pane)
        assert "security.allowed_sessions" in await rig.fails("capture-pane", paneId=hidden.pane)
        with pytest.raises(MCPError, match=r"security\.allowed_sessions") as caught:
            await rig.client.read_resource(f"tmux://pane/{hidden.pane}")
        assert caught.value.error.code != -32002
        uris = {str(row.uri) for row in (await rig.client.list_resources()).resources}
        assert f"tmux://pane/%25{made.pane[1:]}" in uris
        assert f"tmux://pane/%25{hidden.pane[1:]}" not in uris


async def test_what_a_pane_prints_unseen_reaches_no_client(under: Policy, place: PolicyPlace) -> None:
    hidden = (
        r"A\342\200\213B\342\200\256C\363\240\201\201D \033[31mred\033[0m "
        r"\360\237\221\251\342\200\215\360\237\222\273"
    )
    title = r"\033]2;tit\342\200\213le\007"
    async with under("") as it:
        made = await it.call("create-session", command=f"printf '{title}{hidden} end\\n'; cat")
        pane = made["paneId"]

        async def shown() -> str:
            text = str(await it.call("capture-pane", paneId=pane))
            return text if "end" in text else ""

        async def read() -> str:
            """Read the pane: the stream is a little later than the screen."""
            text = str((await it.call("read-pane", paneId=pane))["text"])
            return text if "end" in text else ""

        text = str(await eventually(shown))
        assert text.startswith("ABCD red ")
        assert "👩" in text
        assert str(await eventually(read)).startswith("ABCD red ")
        assert (await it.app.resources.read(f"tmux://pane/{pane}"))[1].startswith("ABCD red ")
        assert not (await it.call("search-panes", query="nothing\u200b"))["matches"]
        coloured = str(await it.call("capture-pane", paneId=pane, colors=True))
        assert "\x1b[31mred" in coloured
        assert "\u202e" not in coloured
        titles = {row["id"]: row["title"] for row in (await it.call("list-panes"))["panes"]}
        assert "\u200b" not in titles[pane]
        await it.call("kill-session", sessionId=made["sessionId"])


async def test_what_programs_call_themselves_is_told_without_what_nobody_sees(
    under: Policy, place: PolicyPlace
) -> None:
    odd = place.folder / "ev\u200bil\U000e0041"
    odd.mkdir()
    program = odd / "sle\u202eep"
    shutil.copy(shutil.which("sleep") or "/bin/sleep", program)
    place.raw("new-session", "-d", "-s", "odd", "-c", str(odd), f"exec '{program}' 50")
    pane = place.raw("display-message", "-p", "-t", "odd", "#{pane_id}")
    try:
        async with under("") as it:

            async def runs() -> bool:
                return "sleep" in (await it.call("pane-state", paneId=pane))["foregroundCmd"]

            await eventually(runs)
            told = [
                await it.call("list-panes"),
                await it.call("list-windows"),
                await it.call("list-sessions"),
            ]
            told += [entry.name for entry in await it.app.resources.list()]
            state = await it.call("pane-state", paneId=pane)
        assert state["currentPath"].endswith("/evil")
        assert not {"\u200b", "\u202e", "\U000e0041"} & set(json.dumps([told, state], ensure_ascii=False))
    finally:
        place.raw("kill-session", "-t", "odd")


async def test_a_commands_result_is_told_only_for_the_server_that_it_ran_on(
    under: Policy, place: PolicyPlace
) -> None:
    async with under('[servers.here]\nsocket = "SOCKET"\n') as it:
        made = await it.call("create-session", name="runs")
        done = await it.call("execute-command", paneId=made["paneId"], command="echo told")
        asked = {"commandId": done["commandId"]}
        ended = await it.call("get-command-result", **asked, waitMs=10_000)
        assert ended["output"].strip() == "told"
        assert (await it.call("get-command-result", **asked, socket="here"))["status"] == "completed"
        answer = await it.app.dispatch.call("get-command-result", {**asked, "socket": "/tmp/mx-other"})
        assert answer.error == "refused"
        assert "another tmux server" in answer.text
        await it.call("kill-session", sessionId="runs")
