"""run-in-repl through MCP on real programs: they get the whole input, the answer has the whole output."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.rigs import repl_programs as programs
from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Fails, Shell
from tests.rigs.waiting import LIMIT_S, eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")

FUNCTION = "def f(x):\n    y = x + 1\n\n    return y\n\nf(4)\nf(5)"
CLASS = (
    'class A:\n\t"""Says\n\n\tmore."""\n\n\tdef one(self):\n\t\treturn "1\'"\n\n'
    "\t@property\n\tdef two(self): return 2\n\nA().one(), A().two, A.__doc__.count(chr(10))"
)
LONG = "def long():\n" + f"    a = '{'v' * 40}'\n" * 300 + "    return a\nlen(long())"
BRANCHES = "if (0) {\n  1\n}\nelse {\n\tq = `a\n  b\nc`\n}\n[q]\n  .map(x => x + '!')"

Dialogue = list[tuple[str, str]]

PYTHON: Dialogue = [
    ("1+1", "2"),
    ("x = 3", ""),
    (FUNCTION, "5\n6"),
    (CLASS, '("1\'", 2, 2)'),
    ("for i in range(3): print(i)", "0\n1\n2"),
    ("for i in range(2):\n    print(i)\nelse:\n    print('end')\nprint(7)", "0\n1\nend\n7"),
    (LONG, "40"),
    ("s = '''a\n\n  b'''\nlen(s)", "6"),
    ("print('日本語 é', 'x' * 300)", "日本語 é " + "x" * 300),
    (f"y = '{'w' * 500}'; len(y)", "500"),
    ("print('a', end='')", "a"),
    ("print('  a  \\n\\n')", "  a  \n\n"),
    ("import os\nos.system('sleep 0.2; echo child')", "child\n0"),
    ("print('>>> ', end='', flush=True); import time; time.sleep(0.3); print('forged')", ">>> forged"),
    ("print('\\n>>> \\n... ')", "\n>>> \n... "),
    ("print('\\x1b[31mred\\x1b[0m 50%\\r100%')", "100%50%"),
    ("# only a remark", ""),
]
PYTHON_2: Dialogue = [("1+1", "2"), ("print 1\nif 1:\n  print 2\n\n  print 3", "1\n2\n3")]
NODE: Dialogue = [
    ("1+1", "2"),
    (BRANCHES, "[ 'a\\n  b\\nc!' ]"),
    ("function f(x) {\n  return x\n}\nf('日本')", "'日本'"),
    ("throw new Error('e')", "Uncaught Error: e"),
    ("console.log('> '); await new Promise(r => setTimeout(r, 300)); 7", "> \n7"),
    ("let z = [\n1,\n\n2]\nz.length", "2"),
]
SQLITE: Dialogue = [
    ("select 1;", "1"),
    ("create table t(a,\n b);\n\ninsert into t values(1,\n'two');\nselect * from t;\n.tables", "1|two\nt"),
    ("selec;", 'Parse error: near "selec": syntax error\n  selec;\n  ^--- error here'),
]
GDB: Dialogue = [
    ("p 1+1", "$1 = 2"),
    (
        "define foo\nprint 3\n\nend\nfoo",
        'Type commands for definition of "foo".\nEnd with a line saying just "end".\n$2 = 3',
    ),
    ("shell sleep 0.2; echo hi", "hi"),
]
IPYTHON: Dialogue = [
    ("1+1", "Out[1]: 2"),
    ("x = 3", ""),
    (FUNCTION, "Out[3]: 6"),
    ("def g():\n    return 1", ""),
    ("for i in range(2): print(i)", "0\n1"),
    ("print('a\\n')", "a\n"),
]
BC: Dialogue = [("1+1", "2"), ("2*3\n4*5", "6\n20"), ("x=3", "")]
PSQL: Dialogue = [
    ("select 1 as one;", " one \n-----\n   1\n(1 row)\n"),
    (
        "create function f() returns text as $$\n\nbegin\n  return 'x';\nend\n$$ language plpgsql;",
        "CREATE FUNCTION",
    ),
    ("begin;\nselect 1/0;", "BEGIN\nERROR:  division by zero"),
    ("rollback;", "ROLLBACK"),
    ("\\c template1", 'You are now connected to database "template1" as user "tester".'),
    ("\\t\nselect 2;", "Tuples only is on.\n        2\n"),
]

PROGRAMS: dict[str, tuple[Callable[[], str], Dialogue, str]] = {
    "python": (lambda: f"{sys.executable} -q", PYTHON, "exit()"),
    "python2.7": (lambda: programs.python("2.7"), PYTHON_2, "exit()"),
    "python3.13": (lambda: f"{programs.python('3.13')} -q", PYTHON, "exit()"),
    "ipython": (programs.ipython, IPYTHON, "exit"),
    "node": (lambda: programs.program("node"), NODE, ".exit"),
    "sqlite3": (lambda: programs.program("sqlite3"), SQLITE, ".quit"),
    "gdb": (lambda: f"{programs.program('gdb')} -q -nx", GDB, "quit"),
    "bc": (lambda: f"{programs.program('bc')} -q", BC, "quit"),
}


FIELDS = {"paneId", "pane", "output", "exited", "exitCode", "timedOut", "waitingFor", "cursor"}


async def say(call: Call, pane: str, input: str, **more: Any) -> dict[str, Any]:
    """Use a long timeout: a program that has just been started may need it."""
    reply = await call("run-in-repl", paneId=pane, input=input, **{"timeout": 0.9 * LIMIT_S, **more})
    assert set(reply) - {"note", "screen"} == FIELDS
    assert reply["pane"] is None
    return reply


def spoken(reply: dict[str, Any]) -> dict[str, Any]:
    """Return the fields that `answer` has, and notes."""
    return {name: reply[name] for name in reply if name not in ("pane", "exitCode", "waitingFor", "cursor")}


def answer(pane: str, output: str, *, exited: bool = False) -> dict[str, Any]:
    return {"paneId": pane, "output": output, "exited": exited, "timedOut": False}


async def hold(call: Call, pane: str, dialogue: Dialogue) -> None:
    for input, output in dialogue:
        assert spoken(await say(call, pane, input)) == answer(pane, output), input


@pytest.mark.parametrize("name", PROGRAMS)
async def test_an_input_of_any_lines_is_answered_without_echo_and_prompt(
    call: Call, pane: Shell, name: str
) -> None:
    command, dialogue, bye = PROGRAMS[name]
    made = await pane(command())
    await hold(call, made.pane, dialogue)
    assert spoken(await say(call, made.pane, bye)) == answer(made.pane, "", exited=True)


async def test_psql_keeps_its_prompt_through_transactions_and_databases(
    rig: Rig, call: Call, pane: Shell
) -> None:
    with programs.postgres(rig.folder) as command:
        made = await pane(command)
        await hold(call, made.pane, PSQL)
        reply = await say(call, made.pane, "select (")
        assert "not complete" in reply["note"]
        assert "template1(#" in reply["note"]
        assert (await say(call, made.pane, "3);"))["output"] == "        3\n"
        assert spoken(await say(call, made.pane, "\\q")) == answer(made.pane, "", exited=True)


@pytest.mark.parametrize("name", ["python", "python3.13"])
async def test_a_tab_reaches_a_program_in_a_persons_pane(rig: Rig, call: Call, name: str) -> None:
    made = rig.session_of_a_person(f"tab-{name}", PROGRAMS[name][0]())
    await rig.wait_until_shown(made.pane, ">>>")
    assert (await say(call, made.pane, "len('a\tb')"))["output"] == "3"
    rig.raw("kill-session", "-t", made.session)


@pytest.mark.parametrize("name", ["python", "python3.13", "node", "ipython"])
async def test_a_person_s_pane_of_which_nothing_was_seen_is_served_alike(
    rig: Rig, call: Call, name: str
) -> None:
    command, dialogue, _ = PROGRAMS[name]
    made = rig.session_of_a_person(f"person-{name}", command())
    await rig.wait_until_shown(made.pane, {"node": ">", "ipython": "In [1]:"}.get(name, ">>>"))
    await hold(call, made.pane, dialogue[2:3] if name != "ipython" else dialogue[:3])
    rig.raw("kill-session", "-t", made.session)


@pytest.mark.parametrize(
    ("name", "half", "prompt", "rest", "output"),
    [
        ("python", "sorted(", "...", "[2, 1])", "[1, 2]"),
        ("python", "def g():", "...", "    return 1", ""),
        ("python3.13", "sorted(", "...", "[2, 1])", "[1, 2]"),
        ("python3.13", "def g():", "...", "    return 1", ""),
        ("node", "[2,", "...", "1]", "[ 2, 1 ]"),
        ("sqlite3", "select (", "...>", "1);", "1"),
        ("ipython", "sorted(", "...:", "[2, 1])", "Out[1]: [1, 2]"),
    ],
)
async def test_an_input_that_is_not_complete_is_told_and_can_be_completed(
    call: Call, pane: Shell, name: str, half: str, prompt: str, rest: str, output: str
) -> None:
    made = await pane(PROGRAMS[name][0]())
    reply = await say(call, made.pane, half)
    assert (reply["output"], reply["exited"], reply["timedOut"]) == ("", False, False)
    assert reply["note"] == (
        f"The input is not complete: the program waits for the rest at {prompt!r}. "
        "Send the rest, or give it up with C-c."
    )
    assert spoken(await say(call, made.pane, rest)) == answer(made.pane, output)


@pytest_asyncio.fixture(loop_scope="module")
async def python(pane: Shell) -> str:
    return (await pane(f"{sys.executable} -q")).pane


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


async def test_the_cursor_goes_on_after_the_answer(rig: Rig, call: Call, python: str) -> None:
    script = "import threading, time; threading.Timer(0.5, lambda: print('later')).start(); print('now')"
    reply = await say(call, python, script)
    assert reply["output"] == "now"
    await rig.wait_until_shown(python, "later")

    async def is_all_there() -> bool:
        rest = await call("read-pane", paneId=python, since=reply["cursor"])
        return bool(rest["text"].split() == [">>>", "later"])

    await eventually(is_all_there)


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


@pytest.mark.parametrize("code", [0, 3])
async def test_the_exit_code_is_that_of_the_command(call: Call, pane: Shell, code: int) -> None:
    made = await pane(f"{programs.program('bash')} --norc")
    await call("execute-command", paneId=made.pane, command=f"{sys.executable} -q")
    assert (await say(call, made.pane, "1"))["exitCode"] is None
    reply = await say(call, made.pane, f"exit({code})")
    assert (reply["exited"], reply["exitCode"], reply["waitingFor"]) == (True, code, "shell")


async def test_a_command_that_was_queued_is_no_part_of_the_last_answer(call: Call, pane: Shell) -> None:
    made = await pane()
    await call("execute-command", paneId=made.pane, command=f"{sys.executable} -q")
    queued = await call(
        "execute-command", paneId=made.pane, command="echo oth''er", queue=True, timeoutSeconds=0.1
    )
    left = await call("run-in-repl", paneId=made.pane, input="import os; print('last'); os._exit(3)")
    assert (left["output"], left["exited"], left["exitCode"]) == ("last", True, 3)
    other = await call("get-command-result", commandId=queued["commandId"], waitMs=15000)
    assert other["output"] == "other\n"


async def test_a_traceback_is_output_and_the_next_statement_follows(call: Call, python: str) -> None:
    reply = await say(call, python, "1/0\n2")
    lines = reply["output"].split("\n")
    assert (lines[0], lines[-2:]) == (
        "Traceback (most recent call last):",
        ["ZeroDivisionError: division by zero", "2"],
    )


async def test_an_input_behind_the_exit_is_not_typed_at_the_shell(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane()
    await call("send-keys", paneId=made.pane, keys=f"{sys.executable} -q", enter=True)
    reply = await say(call, made.pane, "print('bye'); exit()\nprint('rm')")
    assert spoken(reply) == {
        **answer(made.pane, "bye", exited=True),
        "note": "Not sent: the input from \"print('rm')\" on.",
    }
    assert "rm" not in (await rig.screen(made.pane)).rpartition("bye")[2]


async def test_a_shell_s_prompt_of_two_lines_is_no_output(rig: Rig, call: Call, pane: Shell) -> None:
    made = await pane(f"{programs.program('bash')} --norc", env={"PS1": "above\nbelow $ "})
    await rig.wait_until_shown(made.pane, "below $")
    await call("send-keys", paneId=made.pane, keys=f"{sys.executable} -q", enter=True)
    assert spoken(await say(call, made.pane, "exit('why')")) == answer(made.pane, "why", exited=True)


async def test_a_shell_inside_the_repl_is_no_exit(call: Call, python: str) -> None:
    reply = await say(call, python, "import os; os.system('PS1=inner: sh')")
    assert reply["exited"] is False
    assert "The program waits for input: 'inner:'" in reply["note"]


async def test_at_the_timeout_the_output_so_far_is_told_and_the_program_goes_on(
    rig: Rig, call: Call, python: str, tmp_path: Path
) -> None:
    gate = tmp_path / "gate"
    await say(call, python, "import os, time")
    wait = f"print('begun')\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\nprint('done')"
    reply = await say(call, python, f"exec({wait!r})", timeout=3)
    assert (reply["output"], reply["timedOut"], reply["exited"]) == ("begun", True, False)
    assert "it keeps running" in reply["note"]
    gate.touch()
    assert spoken(await say(call, python, "1+1")) == answer(python, "2")
    assert "done\n" in await rig.screen(python)


async def test_a_busy_program_gets_nothing_typed(rig: Rig, call: Call, fails: Fails, python: str) -> None:
    await say(call, python, "import time")
    await say(call, python, "time.sleep(50)", timeout=2)
    told = await fails("run-in-repl", paneId=python, input="'typed'", timeout=0.3)
    assert "is busy; nothing was typed" in told
    assert "typed" not in await rig.screen(python)
    await call("send-cancel", paneId=python)
    assert spoken(await say(call, python, "1+1")) == answer(python, "2")


async def test_a_megabyte_is_told_by_its_head_and_tail(call: Call, python: str) -> None:
    reply = await say(call, python, "for i in range(100_000): print('line', i)\n", timeout=30)
    output = reply["output"]
    assert output.startswith("line 0\nline 1\n")
    assert output.endswith("\nline 99998\nline 99999")
    assert "bytes left out" in output
    assert len(output) < 66_000


async def test_inputs_for_one_pane_are_answered_in_their_order(call: Call, python: str) -> None:
    await say(call, python, "seen = []")
    inputs = [f"seen.append({n}); import time; time.sleep(0.02); print({n})" for n in range(5)]
    replies = await asyncio.gather(*(say(call, python, input) for input in inputs))
    assert [reply["output"] for reply in replies] == [str(n) for n in range(5)]
    assert (await say(call, python, "seen"))["output"] == "[0, 1, 2, 3, 4]"


async def test_two_panes_are_spoken_to_side_by_side(call: Call, pane: Shell, rig: Rig) -> None:
    panes = [(await pane(f"{sys.executable} -q")).pane for _ in range(2)]
    gate = rig.folder / "gate"
    wait = f"import os, time\nwhile not os.path.exists({str(gate)!r}): time.sleep(0.01)\nprint('through')"
    first = asyncio.create_task(say(call, panes[0], wait))
    opened = await say(call, panes[1], f"open({str(gate)!r}, 'w').close(); print('open')")
    assert (opened["output"], (await first)["output"]) == ("open", "through")


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


async def test_a_dialogue_inside_something_remote_is_judged_by_its_look(
    rig: Rig, call: Call, fails: Fails, pane: Shell
) -> None:
    relay = rig.folder / "docker"  # its name tells that what it shows is decided elsewhere
    relay.symlink_to(programs.python(f"{sys.version_info.major}.{sys.version_info.minor}"))
    far = 'import os, pty; os.environ["PS1"] = "far$ "; pty.spawn(["sh"])'
    made = await pane(f"{relay} -c '{far}'")
    await rig.wait_until_shown(made.pane, "far$")
    assert "a shell inside docker is at its prompt" in await fails("run-in-repl", paneId=made.pane, input="1")
    await call("send-keys", paneId=made.pane, keys=f"{sys.executable} -q", enter=True)
    await rig.wait_until_shown(made.pane, ">>>")
    await hold(call, made.pane, [(FUNCTION, "5\n6")])
    assert "not complete" in (await say(call, made.pane, "sorted("))["note"]
    assert (await say(call, made.pane, "[2, 1])"))["output"] == "[1, 2]"
    assert spoken(await say(call, made.pane, "exit()")) == answer(made.pane, "", exited=True)


async def test_a_program_of_another_kind_is_refused_with_the_right_tool(
    call: Call, fails: Fails, pane: Shell
) -> None:
    made = await pane()
    told = await fails("run-in-repl", paneId=made.pane, input="ls")
    assert "No REPL runs in pane" in told
    assert "execute-command" in told
    full = await pane("tput smcup; stty -icanon -echo; exec cat")

    async def is_full() -> bool:
        return bool((await call("pane-state", paneId=full.pane))["alternateScreen"])

    await eventually(is_full)
    assert "full-screen" in await fails("run-in-repl", paneId=full.pane, input="x")


async def test_what_somebody_has_typed_is_left_alone(rig: Rig, call: Call, fails: Fails, python: str) -> None:
    await say(call, python, "1")
    rig.raw("send-keys", "-t", python, "-l", "half")
    await rig.wait_until_shown(python, ">>> half")
    assert "typed at the prompt" in await fails("run-in-repl", paneId=python, input="2")
    assert (await rig.screen(python)).endswith(">>> half")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"promptPattern": "(a"}, "'promptPattern' is not a regular expression"),
        ({"promptPattern": ""}, "'promptPattern' is empty"),
        ({"timeout": -1}, "'timeout' must be from 0 to 3600"),
        ({"input": "a\x03"}, "'input' holds the control character \\x03"),
        ({"paneId": "%999"}, "not found"),
    ],
)
async def test_a_bad_argument_is_named(
    fails: Fails, python: str, arguments: dict[str, Any], words: str
) -> None:
    assert words in await fails("run-in-repl", **{"paneId": python, "input": "1", **arguments})


async def test_a_line_that_the_terminal_would_cut_is_refused(fails: Fails, pane: Shell) -> None:
    made = await pane("cat")
    told = await fails("run-in-repl", paneId=made.pane, input="x" * 5000)
    assert "a line of 5000 bytes" in told
