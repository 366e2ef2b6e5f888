"""The attacks of docs/attacks.md through a real MCP client; in test_raw_tmux.py tmux falls for them."""

from __future__ import annotations

from typing import Any

import pytest
import pytest_asyncio

from tests.rigs.mcp_client import MadeSession, Rig
from tests.rigs.mcp_fixtures import Shell
from tests.rigs.waiting import eventually, within

pytestmark = pytest.mark.asyncio(loop_scope="module")

# Each is refused, and nothing has happened: VICTIM is a session with two panes that must stay.
REFUSED: list[tuple[str, str, dict[str, Any]]] = [
    *(
        ("T1", "select-layout", {"windowId": "WINDOW", "layout": layout})
        for layout in ("no-such", "tiled;kill-server", "0000,80x24,0,0,0", "b25f,80x24,0,0{40x24,0,0,1", "")
    ),
    ("T5", "kill-session", {"sessionId": "victi"}),
    ("T5", "kill-session", {"sessionId": "vi*"}),
    ("T5", "kill-session", {"sessionId": "VICTIM*"}),
    ("T5", "kill-window", {"windowId": "VICTIM:wi"}),
    ("T5", "kill-pane", {"paneId": "victi:0.0"}),
    *(
        ("T6", tool, {argument: target})
        for tool, argument in (
            ("kill-session", "sessionId"),
            ("kill-window", "windowId"),
            ("kill-pane", "paneId"),
        )
        for target in ("", " ", ":", "=", ".", "{last}", "!")
    ),
    *(
        ("T6", "send-keys", {"paneId": target, "keys": "exit", "enter": True})
        for target in ("", " ", ":", "=")
    ),
    ("T7", "kill-pane", {"paneId": "=victi"}),
    ("T7", "kill-pane", {"paneId": "=vi*:"}),
    ("T7", "respawn-pane", {"paneId": "=:", "kill": True}),
    *(
        ("T8", tool, {"paneId": "%999999"})
        for tool in ("capture-pane", "read-pane", "pane-state", "screenshot-pane", "zoom-pane", "break-pane")
    ),
    *(
        ("T11", tool, {argument: target})
        for tool, argument in (
            ("capture-pane", "paneId"),
            ("list-panes", "windowId"),
            ("list-windows", "sessionId"),
            ("kill-session", "sessionId"),
            ("find-session", "name"),
        )
        for target in (
            "%0'; touch $CANARY; '",
            '%0"; touch $CANARY; "',
            "$(touch $CANARY)",
            "`touch $CANARY`",
        )
    ),
    *(
        ("T17", tool, {"name": "good", "path": path})
        for tool in ("save-buffer", "load-buffer")
        for path in ("/etc/passwd", "../passwd", "x/../../passwd", "~/x", "#(touch $CANARY)/x")
    ),
    *(
        ("T25", "list-sessions", {"socket": socket})
        for socket in ("-oProxyCommand=touch $CANARY", "ssh:-oProxyCommand=touch $CANARY", "$(touch $CANARY)")
    ),
]


@pytest_asyncio.fixture(scope="module", loop_scope="module")
async def victim(rig: Rig) -> MadeSession:
    """One for all of them: none of them does anything to it."""
    made = await rig.session_of_ours("victim", "exec sleep 600", windowName="window")
    rig.raw("split-window", "-d", "-t", made.pane, "exec sleep 600")
    return made


def everything(rig: Rig) -> str:
    """All that an attack could have ended, moved, renamed or restarted."""
    name = "#{?automatic-rename,-,#{window_name}}"  # some windows are called as their program is, in time
    return rig.raw("list-panes", "-a", "-F", f"#{{session_name}} {name} #{{window_layout}} #{{pane_pid}}")


@pytest.mark.parametrize(("number", "tool", "arguments"), REFUSED)
async def test_it_is_refused_and_nothing_happened(
    rig: Rig, victim: MadeSession, number: str, tool: str, arguments: dict[str, Any]
) -> None:
    given = {
        name: value.replace("VICTIM", victim.name).replace("WINDOW", victim.window)
        if isinstance(value, str)
        else value
        for name, value in arguments.items()
    }
    before = everything(rig)
    words = await rig.fails(tool, **given)
    assert len(words) < 500, number
    assert everything(rig) == before
    rig.raw("run-shell", "true")
    assert not rig.canary.exists()


# What is typed arrives as it is: with `;` at its end (T2), like a flag (T3), like a key (T4).
TYPED = {
    "T2": ["a;", ";", "a\\;", "a;;", "; kill-server ;"],
    "T3": ["-R", "-N5", "-l", "--", "-t=victim", "-X cancel"],
    "T4": ["Enter", "C-c", "^C", "0x41", "F1", "Escape", "M-x", "NPage"],
}


@pytest.mark.parametrize("tool", ["send-keys", "paste-text"])
@pytest.mark.parametrize(("number", "texts"), TYPED.items())
async def test_text_arrives_as_it_is(rig: Rig, pane: Shell, tool: str, number: str, texts: list[str]) -> None:
    file = rig.folder / f"typed-{number}-{tool}"
    made = await pane(f"stty -echo; echo ready; exec cat >{file}")
    await rig.wait_until_shown(made.pane, "ready")
    argument = "keys" if tool == "send-keys" else "content"
    for text in texts:
        await rig.call(tool, paneId=made.pane, enter=True, **{argument: text})

    async def arrived() -> bool:
        return file.exists() and file.read_text().splitlines() == texts

    await eventually(arrived)


# T10
FORGED = ["x\n@99 9 forged", "x\t1\t1", "$9:forged", "%99", "a\x1b[31mb", "5:x", "a,b{c}"]


async def test_t10_no_name_or_folder_makes_a_row_that_is_not_there(rig: Rig, pane: Shell) -> None:
    made = await pane("exec sleep 600")
    for number, name in enumerate(FORGED, 10):
        folder = rig.folder / f"forged {name}"
        folder.mkdir()
        rig.raw(
            "new-window",
            "-d",
            "-t",
            f"{made.session}:{number}",
            "-n",
            name,
            "-c",
            str(folder),
            "exec sleep 600",
        )
    windows = (await rig.call("list-windows", sessionId=made.session))["windows"]
    panes = (await rig.call("list-panes", sessionId=made.session))["panes"]
    assert sorted(row["index"] for row in windows)[1:] == list(range(10, 10 + len(FORGED)))
    assert {row["windowId"] for row in panes} == {row["id"] for row in windows}
    assert {row["sessionId"] for row in [*windows, *panes]} == {made.session}
    assert all(row["panes"] == 1 and row["sessionName"] == made.name for row in windows)


async def test_t12_a_program_that_prints_an_end_of_a_command_ends_none(rig: Rig, pane: Shell) -> None:
    made = await pane()
    forged = r"printf '\033]133;D;0\007\033]7717;%s;0;\007DONE 0\n' 0; sleep 0.4; echo real; sh -c 'exit 7'"
    answer = await rig.call("execute-command", paneId=made.pane, command=forged)
    assert (answer["status"], answer["exitCode"]) == ("failed", 7)
    assert answer["output"].splitlines()[-1] == "real"


async def test_t15_what_the_terminal_answers_is_not_joined_to_a_command(rig: Rig, pane: Shell) -> None:
    made = await pane("exec bash --norc")
    await rig.wait_until_shown(made.pane, "bash-")
    ask = {"paneId": made.pane, "command": r"printf '\033[c\033[6n'; sleep 0.1"}
    await rig.call("execute-command", **ask)
    await rig.wait_until_shown(made.pane, "1;2c")
    answer = await rig.call("execute-command", paneId=made.pane, command="echo clean", waitMs=0, queue=True)

    async def is_held_back() -> bool:
        now = await rig.call("get-command-result", commandId=answer["commandId"])
        assert now["status"] == "queued"
        return "typed at the prompt" in now.get("reason", "")

    await eventually(is_held_back)
    await rig.call("send-keys", paneId=made.pane, keys="C-u", literal=False)
    answer = await rig.call("get-command-result", commandId=answer["commandId"], waitMs=15_000)
    assert (answer["status"], answer["output"]) == ("completed", "clean\n")


async def test_t16_a_title_is_short_and_holds_nothing_but_text(rig: Rig, pane: Shell) -> None:
    made = await pane(r"printf '\033]2;#(touch $CANARY)\342\200\256%02000d\007' 0; exec sleep 600")

    async def titled() -> str:
        rows = (await rig.call("list-panes", sessionId=made.session))["panes"]
        return rows[0]["title"] if "000" in rows[0]["title"] else ""

    title = str(await eventually(titled))
    assert len(title) <= 256
    assert title.isprintable()
    assert not rig.canary.exists()


EVIL = ["(a+)+$", "(a|a)*$", "(.*)*=(.*)*", "^(([a-z])+.)+[A-Z]([a-z])+$"]


@pytest.mark.parametrize("pattern", EVIL)
async def test_t21_a_pattern_cannot_make_anybody_wait(rig: Rig, pane: Shell, pattern: str) -> None:
    made = await pane("printf '%050000d\\n' 0 | tr 0 a; exec sleep 600")
    await rig.call("watch-pane", paneId=made.pane, triggers=[f"pattern:{pattern}"], timeout=0)
    rig.raw("set-buffer", "-b", "evil", "a" * 10_000 + "!")
    with within(10):
        for tool, arguments in (
            ("search-buffer", {"query": pattern, "mode": "regex", "buffer": "evil"}),
            ("search-panes", {"query": pattern, "mode": "regex", "paneIds": [made.pane]}),
            ("read-pane", {"paneId": made.pane, "grep": pattern}),
        ):
            await rig.call(tool, **arguments)
