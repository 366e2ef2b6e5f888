"""An input of many lines is split into steps for one prompt each, and nothing of it is lost."""

from __future__ import annotations

import pytest

from muxpilot.errors import BadInput
from muxpilot.processes.repl_prompts import ReplKind, recognize_prompt
from muxpilot.repl.steps import InputMethod, split_into_steps, validate_input

PYTHON = recognize_prompt(">>> ", "python3").kind
IPYTHON = recognize_prompt("In [1]: ", "python").kind
NODE = recognize_prompt("> ", "node").kind
GDB = recognize_prompt("(gdb) ", "gdb").kind
SQLITE = recognize_prompt("sqlite> ", "sqlite3").kind


def texts(kind: ReplKind, text: str, *, goes_on: bool = False) -> list[str]:
    return [step.text for step in split_into_steps(kind, text, goes_on=goes_on)]


@pytest.mark.parametrize(
    ("text", "typed"),
    [
        ("1+1", ["1+1"]),
        ("a = 1\nb = 2\n", ["a = 1", "b = 2"]),
        ("a = 1; b = 2\nc", ["a = 1; b = 2", "c"]),
        ("def f():\n    return 1\nf()", ["def f():\n    return 1\n", "f()"]),
        ("def f():\n    a = 1\n\n    return a", ["def f():\n    a = 1\n \n    return a\n"]),
        ('def f():\n    """a\n\n    b"""\n\n    x', ['def f():\n    """a\n\n    b"""\n \n    x\n']),
        ('x = """a\n\nb"""', ['x = """a\n\nb"""']),
        ("x = [\n1,\n\n2]", ["x = [\n1,\n\n2]"]),
        ("@a\n@b\ndef f(): pass", ["@a\n@b\ndef f(): pass\n"]),
        ("for i in x: i", ["for i in x: i\n"]),
        ("if a:\n  b\nelse:\n  c\nd", ["if a:\n  b\nelse:\n  c\n", "d"]),
        ("try:\n  a\nexcept E:\n  b\nfinally:\n  c", ["try:\n  a\nexcept E:\n  b\nfinally:\n  c\n"]),
        ("a\n# remark\n\nb", ["a", "b"]),
        ("# remark", ["# remark"]),
        ("", [""]),
        ("def f(x):", ["def f(x):"]),
        ("foo(", ["foo("]),
        ("print 1\nprint 2", ["print 1", "print 2"]),
        ("if a:\n  print 1\n\n  print 2\nelse:\n  print 3\nb", [
            "if a:\n  print 1\n \n  print 2\nelse:\n  print 3\n", "b",
        ]),
        ("%time x\ny", ["%time x", "y"]),
    ],
)  # fmt: skip
def test_python_gets_statement_by_statement(text: str, typed: list[str]) -> None:
    steps = split_into_steps(PYTHON, text, goes_on=False)
    assert [step.text for step in steps] == typed
    assert {step.method for step in steps} == {InputMethod.PASTING}
    assert [step.echo_lines for step in steps] == [step.text.count("\n") + 1 for step in steps]


def test_the_rest_of_a_python_block_ends_it() -> None:
    assert texts(PYTHON, "    return 3", goes_on=True) == ["    return 3\n"]
    assert texts(PYTHON, "3)", goes_on=True) == ["3)"]


@pytest.mark.parametrize(
    ("text", "may_need_empty_line"),
    [
        ("1", False),
        ("def f():\n    1", True),
        ("for i in x: i", True),
        ("def f():\n    1\nf()", False),
        ("foo(", False),
        ("%%time\nx", False),
        ("%%time\nif x:\n  y", True),
        ("def f():", False),
    ],
)
def test_ipython_gets_a_cell_that_may_need_an_empty_line(text: str, may_need_empty_line: bool) -> None:
    [step] = split_into_steps(IPYTHON, text, goes_on=False)
    assert (step.text, step.method, step.may_need_empty_line) == (
        text,
        InputMethod.PASTING,
        may_need_empty_line,
    )


def test_node_gets_many_lines_in_its_editor() -> None:
    [step] = split_into_steps(NODE, "if (a) {\n\tb\n}\nelse c", goes_on=False)
    assert step.text == ".editor\r\x15if (a) {\r\x15    b\r\x15}\r\x15else c\x04"
    assert step.echo_lines == 6
    assert texts(NODE, "1 + 1") == ["1 + 1"]
    assert texts(NODE, ".load x\n.help") == [".load x", ".help"]
    assert texts(NODE, "a\n})", goes_on=True) == ["a", "})"]


def test_others_get_line_by_line_and_gdb_no_empty_one() -> None:
    assert texts(SQLITE, "select\n\n1;\n") == ["select", "", "1;"]
    assert texts(GDB, "p 1\n\np 2") == ["p 1", "p 2"]
    assert texts(GDB, "") == [""]


def test_what_no_keyboard_types_is_refused() -> None:
    assert validate_input("a\r\n\tb") == "a\n\tb"
    with pytest.raises(BadInput, match=r"'input' holds the control character \\x03"):
        validate_input("a\x03")


def test_hostile_python_is_only_text() -> None:
    deep = "(" * 5000 + ")" * 5000
    assert texts(PYTHON, deep) == [deep]
    assert texts(PYTHON, "x = " + "-" * 50_000 + "1")[0].startswith("x = -")
