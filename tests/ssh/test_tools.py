"""Tools on a tmux of another host."""

from __future__ import annotations

import json
from functools import partial

import pytest

from tests.rigs.waiting import eventually
from tests.ssh.conftest import RemoteHost

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish", "dash"])
async def test_commands_run_in_the_shell_of_a_far_pane(far: RemoteHost, shell: str) -> None:
    pane = await far.pane(shell)
    assert (await far.run(pane, "cd /usr"))["exitCode"] == 0
    answer = await far.run(pane, "pwd; seq 1 300")
    assert answer["output"] == "/usr\n" + "".join(f"{n}\n" for n in range(1, 301))
    assert (await far.run(pane, "sh -c 'exit 42'"))["exitCode"] == 42
    question = await far.run(pane, "sh -c 'printf name?; read x; echo got $x'")
    assert (question["status"], question["waitingForInput"]) == ("running", True), question
    await far.call("send-keys", paneId=pane, keys="me", enter=True)
    ended = await far.call("get-command-result", commandId=question["commandId"], waitMs=20000)
    assert (ended["status"], "got me" in ended["output"]) == ("completed", True)
    screen = await far.text("capture-pane", paneId=pane)
    assert "stty -echo" not in screen
    assert "muxpilot" not in screen


async def test_a_named_pane_is_opened_there_and_found_again(far: RemoteHost) -> None:
    far.use_shell("bash")
    first = await far.call("execute-command", command="kept=1; pwd; echo $PAGER", paneId="named")
    assert (first["pane"], first["created"]) == ("named", True)
    assert first["output"].splitlines()[1:] == ["cat"], json.dumps(first)
    again = await far.call("execute-command", command="echo $kept", paneId="named")
    assert (again["paneId"], again["output"], again["created"]) == (first["paneId"], "1\n", False)
    assert "'nope' not found" in await far.fails("capture-pane", paneId="nope")
    await far.call("kill-pane", paneId="named")


async def test_the_status_of_a_far_shell_that_ends_is_told(far: RemoteHost) -> None:
    pane = await far.pane()
    assert (await far.run(pane, "true"))["exitCode"] == 0
    answer = await far.run(pane, "exit 3")
    assert (answer["status"], answer["exitCode"]) == ("failed", 3), answer

    async def is_closed() -> bool:
        return pane not in far.raw("list-panes", "-a", "-F", "#{pane_id}").split()

    await eventually(is_closed)


async def test_a_password_that_is_asked_for_there_is_told(far: RemoteHost) -> None:
    pane = await far.pane()
    asked = await far.run(pane, "read -rs -p 'Password: ' secret")
    assert asked["waitingForInput"], asked
    state = await far.call("pane-state", paneId=pane)
    assert state["waitingForInput"]
    await far.call("send-keys", paneId=pane, keys="x", enter=True)
    await far.call("get-command-result", commandId=asked["commandId"], waitMs=20000)
    assert (await far.run(pane, "echo ok"))["output"] == "ok\n"


async def test_a_far_pane_tells_what_runs_in_it(far: RemoteHost) -> None:
    pane = await far.shared()
    await far.run(pane, "true")
    state = await far.call("pane-state", paneId=pane)
    assert (state["foregroundCmd"], state["waitingFor"]) == ("bash", "shell"), state
    sleeping = await far.run(pane, "sleep 60", timeoutSeconds=0.1)

    async def sleeps() -> bool:
        state = await far.call("pane-state", paneId=pane)
        return (state["foregroundCmd"], state["waitingForInput"]) == ("sleep", False)

    await eventually(sleeps)
    await far.call("cancel-command", commandId=sleeping["commandId"])


async def test_buffers_hold_each_byte_there(far: RemoteHost) -> None:
    assert far.app is not None
    buffers = far.app.servers.default.buffers
    for data in (b"small", bytes(range(256)) * 400):
        await buffers.set("bytes", data)
        assert await buffers.get("bytes") == data
    await buffers.delete("bytes")


async def test_what_is_typed_and_pasted_comes_out_as_it_was(far: RemoteHost) -> None:
    pane = await far.shared()
    hostile = 'it\'s "$HOME" `id` #{pane_id} #(id) ; \\n é 😀'
    await far.call("send-keys", paneId=pane, keys=f"# {hostile}", enter=True)
    await far.shows(pane, hostile)
    await eventually(partial(far.is_at_its_prompt, pane))  # else its terminal takes no line so long
    long = "x" * 40_000
    await far.call("paste-text", paneId=pane, content=f"printf %s '{long}' | wc -c", enter=True)
    await far.shows(pane, "40000")


async def test_text_is_shown_on_a_far_terminal_and_never_run(far: RemoteHost) -> None:
    pane = (await far.call("create-session", name="board", command="cat"))["paneId"]
    await far.call("write-to-display", paneId=pane, text="it's $(id)\n#{pane_id} `id`")
    screen = await far.shows(pane, "`id`")
    assert "it's $(id)\n#{pane_id} `id`" in screen


async def test_a_far_pane_is_watched(far: RemoteHost) -> None:
    """Repeat it in one pane; nothing pauses after the line that is waited for."""
    pane = await far.shared()
    for turn in range(3):
        command = f"sleep 0.1; echo it is rea''dy {turn}; echo more"
        started = {"paneId": pane, "command": command, "pattern": "is ready", "timeout": 20}
        fired = await far.call("start-and-watch", **started)
        assert fired["detail"] == f"Ready — matched: it is ready {turn}", fired
    started |= {"command": "sh -c 'exit 5'", "pattern": "never"}
    fired = await far.call("start-and-watch", **started)
    assert (fired["event"], "code 5" in fired["detail"]) == ("exit", True), fired


async def test_a_far_pane_is_read_from_a_cursor_on_and_pictured(far: RemoteHost) -> None:
    pane = await far.shared()
    first = await far.call("read-pane", paneId=pane)
    await far.run(pane, "echo some''thing new")
    second = await far.call("read-pane", paneId=pane, since=first["cursor"])
    assert "something new" in second["text"]
    assert "something new" in await far.text("screenshot-pane", paneId=pane, output="svg")


async def test_a_program_that_talks_is_talked_to_there(far: RemoteHost) -> None:
    pane = await far.pane()
    started = await far.run(pane, "python3 -q")
    assert started["waitingForInput"], started
    answer = await far.call("run-in-repl", paneId=pane, input="print(6 * 7)", timeout=15)
    assert (answer["output"].strip(), answer["exited"]) == ("42", False), answer


async def test_a_folder_that_is_not_there_is_told(far: RemoteHost) -> None:
    assert "does not exist" in await far.fails("create-session", name="lost", cwd="/not/there")
    made = await far.call(
        "create-session", name="usr", cwd="/usr", env={"A": "it's"}, command="pwd; echo $A; cat"
    )
    assert "/usr\nit's" in await far.shows(made["paneId"], "it's")


async def test_nothing_of_ours_shows_there(far: RemoteHost) -> None:
    await far.run(await far.shared(), "true")
    names = [row["name"] for row in (await far.call("list-sessions"))["sessions"]]
    assert not [name for name in names if "muxpilot" in name]
    assert (await far.call("list-clients"))["clients"] == []


async def test_what_a_server_is_called_and_how_it_is(far: RemoteHost) -> None:
    [row] = (await far.call("list-servers"))["servers"]
    assert (row["name"], row["state"], row["socket"]) == ("default", "connected", far.socket)
    assert row["ssh"] == far.sshd.arguments
