"""run-in-repl says what a program waits for: the rest of an input, an answer, a password or a key."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from tests.rigs import repl_programs as programs
from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Shell
from tests.rigs.repl_dialogue import answer, hold, say, spoken

pytestmark = pytest.mark.asyncio(loop_scope="module")


async def test_a_question_is_told_before_the_rest_is_typed(call: Call, python: str) -> None:
    reply = await say(call, python, "name = input('Who? ')\nprint(name * 2)")
    assert reply["note"] == (
        "The program waits for input: 'Who?'. Answer with run-in-repl or send-keys. "
        "Not sent: the input from 'print(name * 2)' on."
    )
    assert (reply["output"], reply["timedOut"]) == ("Who? ", False)
    await hold(call, python, [("me", ""), ("print(name * 2)", "meme")])


async def test_a_password_is_asked_for_and_never_shown(call: Call, python: str) -> None:
    reply = await say(call, python, "import getpass; len(getpass.getpass())")
    assert "The program waits for a password at 'Password:'" in reply["note"]
    assert spoken(await say(call, python, "secret-word")) == answer(
        python, "\n11"
    )  # the line end is getpass's own


async def test_what_is_waited_for_is_told(call: Call, python: str) -> None:
    lines = ["1+1", "sorted(", "[])", "import getpass; getpass.getpass()"]
    replies = [await say(call, python, line) for line in lines]
    assert [reply["waitingFor"] for reply in replies] == ["line", "line", "line", "password"]
    assert all("screen" not in reply for reply in replies)


PAGED = "import pydoc; pydoc.pager = lambda text, title='': pydoc.pipepager(text, 'less -+F -+X'); help(str)"


async def test_a_pager_is_told_by_name_with_its_screen(call: Call, python: str) -> None:
    began = time.monotonic()
    reply = await say(call, python, PAGED)
    assert time.monotonic() - began < 5
    assert (reply["waitingFor"], reply["timedOut"], reply["exited"]) == ("pager", False, False)
    assert "class str(object)" in reply["screen"]
    assert "" not in reply["screen"].split("\n")
    assert reply["note"].startswith("The pager less is in front.")
    await call("send-keys", paneId=python, keys="q", until="pattern:>>> ?$", timeoutMs=20_000)
    assert (await say(call, python, "1+1"))["output"].split("\n")[-1] == "2"


async def test_the_pager_of_psql_is_told(rig: Rig, call: Call, pane: Shell) -> None:
    (rig.folder / "paged").mkdir()
    with programs.postgres(rig.folder / "paged") as command:
        made = await pane(f"{command} --pset=pager=always", env={"PAGER": "less -+F -+X"})
        reply = await say(call, made.pane, "select * from generate_series(1, 500);")
        assert (reply["waitingFor"], reply["output"]) == ("pager", "")
        assert "generate_series" in reply["screen"]


MENU = """
import sys, tty
tty.setcbreak(0)
print("? Which one\\r\\n > first ", end="", flush=True)
sys.stdin.read(1)
print("\\r\\n? Which other\\r\\n > third\\r\\n   fourth", flush=True)
sys.stdin.read(1)
"""


async def test_a_menu_that_takes_keys_is_told(call: Call, pane: Shell, tmp_path: Path) -> None:
    (tmp_path / "menu.py").write_text(MENU)
    made = await pane(f"{sys.executable} {tmp_path / 'menu.py'}")
    reply = await say(call, made.pane, "")
    assert (reply["waitingFor"], reply["timedOut"]) == ("key", False)
    assert "> third" in reply["screen"]


async def test_a_question_that_a_line_editor_asks_wants_a_line(call: Call, pane: Shell) -> None:
    """The line editor of python reads keys, and has the echo off."""
    made = await pane(f"{sys.executable} -q")
    reply = await say(call, made.pane, "x = input('Name? ')")
    assert (reply["waitingFor"], reply["output"]) == ("line", "Name? ")
    await say(call, made.pane, "bob")
    assert (await say(call, made.pane, "x"))["output"] == "'bob'"


async def test_a_pattern_names_the_prompt_that_is_waited_for(call: Call, pane: Shell) -> None:
    loop = "while read -p 'a? ' a; do sleep 0.2; read -p 'b? ' b; echo \"<$a$b>\"; done"
    made = await pane(f"bash -c '{loop}'".replace("'a? '", '"a? "').replace("'b? '", '"b? "'))
    reply = await say(call, made.pane, "1\n2", promptPattern=r"[ab]\? $")
    assert spoken(reply) == answer(made.pane, "<12>")
    reply = await say(call, made.pane, "3", promptPattern="^never", timeout=4)
    assert (reply["timedOut"], reply["output"]) == (True, "b? ")


async def test_questions_of_an_unknown_program_get_line_by_line(call: Call, pane: Shell) -> None:
    made = await pane(
        """bash -c 'read -p "Name: " n; read -p "Age: " a; echo "$n is $a"; read -p "Next: "'"""
    )
    reply = await say(call, made.pane, "me\n5")
    assert reply["output"].split("\n")[-2:] == ["me is 5", "Next: "]
