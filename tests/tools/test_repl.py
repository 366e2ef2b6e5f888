"""run-in-repl through MCP on real programs: they get the whole input, the answer has the whole output."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.rigs import repl_programs as programs
from tests.rigs.mcp_client import Rig
from tests.rigs.mcp_fixtures import Call, Shell
from tests.rigs.repl_dialogue import FUNCTION, Dialogue, answer, hold, say, spoken
from tests.rigs.waiting import eventually

pytestmark = pytest.mark.asyncio(loop_scope="module")
CLASS = (
    'class A:\n\t"""Says\n\n\tmore."""\n\n\tdef one(self):\n\t\treturn "1\'"\n\n'
    "\t@property\n\tdef two(self): return 2\n\nA().one(), A().two, A.__doc__.count(chr(10))"
)
LONG = "def long():\n" + f"    a = '{'v' * 40}'\n" * 300 + "    return a\nlen(long())"
BRANCHES = "if (0) {\n  1\n}\nelse {\n\tq = `a\n  b\nc`\n}\n[q]\n  .map(x => x + '!')"

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


async def test_the_cursor_goes_on_after_the_answer(rig: Rig, call: Call, python: str) -> None:
    script = "import threading, time; threading.Timer(0.5, lambda: print('later')).start(); print('now')"
    reply = await say(call, python, script)
    assert reply["output"] == "now"
    await rig.wait_until_shown(python, "later")

    async def is_all_there() -> bool:
        rest = await call("read-pane", paneId=python, since=reply["cursor"])
        return bool(rest["text"].split() == [">>>", "later"])

    await eventually(is_all_there)


async def test_a_traceback_is_output_and_the_next_statement_follows(call: Call, python: str) -> None:
    reply = await say(call, python, "1/0\n2")
    lines = reply["output"].split("\n")
    assert (lines[0], lines[-2:]) == (
        "Traceback (most recent call last):",
        ["ZeroDivisionError: division by zero", "2"],
    )


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
