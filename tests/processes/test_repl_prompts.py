"""Recognizing prompts: which program it is, what its next prompt looks like, and its continuation prompt."""

from __future__ import annotations

import re

import pytest

from muxpilot.processes.repl_prompts import InputStyle, recognize_prompt, text_typed_at_prompt

# The line, the program in front, the kind, a prompt that may come next, and a continuation prompt.
KNOWN = [
    (">>> ", "python3", "python", ">>> ", "... "),
    (">>> ", "python3.13", "python", "x>>> ", "...     "),
    (">>> ", "ssh", "python", ">>> ", "... "),
    ("... ", "python3", "python", ">>> ", "... "),
    ("... ", "node", "node", "> ", "... "),
    ("In [3]: ", "python", "ipython", "In [14]: ", "   ...: "),
    ("(Pdb) ", "python3", "pdb", "(Pdb) ", "... "),
    ("> ", "node", "node", "> ", "... "),
    ("> ", "node", "node", "> ", "| "),
    ("> ", "lua5.4", "lua", "> ", ">> "),
    ("> ", "R", "R", "> ", "+ "),
    ("postgres=# ", "psql", "psql", "shop=*> ", "shop-> "),
    ("postgres=!# ", "psql", "psql", "postgres=# ", "postgres'# "),
    ("shop=# ", "ssh", "psql", "shop=# ", "shop(# "),
    ("sqlite> ", "sqlite3", "sqlite", "sqlite> ", "   ...> "),
    ("   ...> ", "sqlite3", "sqlite", "sqlite> ", "   ...> "),
    ("(gdb) ", "gdb", "gdb", "(gdb) ", ">"),
    ("irb(main):001:0> ", "irb", "irb", "irb(main):002:0> ", "irb(main):002:0* "),
    ("irb(main):001> ", "ruby", "irb", "irb(main):012> ", "irb(main):002* "),
    ("MariaDB [(none)]> ", "mysql", "mysql", "MariaDB [shop]> ", "    -> "),
    ("user=> ", "java", "clojure", "user=> ", "  #_=> "),
]


@pytest.mark.parametrize(("line", "program", "kind", "following", "more"), KNOWN)
def test_a_known_prompt_tells_what_may_follow(
    line: str, program: str, kind: str, following: str, more: str
) -> None:
    prompt = recognize_prompt(line, program)
    assert prompt.kind.name == kind
    assert prompt.without_prompt(f"answer\n{following}") is not None
    assert prompt.asks_for_more(more)
    assert not prompt.asks_for_more(following)


@pytest.mark.parametrize(
    ("line", "following", "is_prompt"),
    [
        ("dev[3]> ", "dev[4]> ", True),
        ("dev[3]> ", "prod[3]> ", False),
        ("? ", "? ", True),
        ("ftp> ", "text ftp> ", True),
        ("ftp> ", "ftp> more", False),
        (">> ", ">> ", True),
    ],
)
def test_an_unknown_prompt_is_known_again_whatever_its_numbers(
    line: str, following: str, is_prompt: bool
) -> None:
    prompt = recognize_prompt(line, "thing")
    assert prompt.kind.name == "unknown"
    assert (prompt.without_prompt(following) is not None) is is_prompt


def test_a_prompt_that_looks_like_a_continuation_is_a_prompt() -> None:
    prompt = recognize_prompt(">> ", "octave")
    assert not prompt.asks_for_more(">> ")
    assert prompt.without_prompt("ans = 3\n>> ") == "ans = 3"


@pytest.mark.parametrize(
    ("line", "program", "text", "output"),
    [
        (">>> ", "python3", ">>> ", ""),
        (">>> ", "python3", "2\n>>> ", "2"),
        (">>> ", "python3", "2\n\n>>> ", "2\n"),
        (">>> ", "python3", "x>>> ", "x"),
        (">>> ", "python3", " a \n>>> ", " a "),
        (">>> ", "python3", ">>> \n", None),
        (">>> ", "python3", ">>> x", None),
        ("In [1]: ", "python", "Out[1]: 2\n\nIn [2]: \n\n\n ", "Out[1]: 2"),
        ("In [1]: ", "python", "In [2]: ", ""),
        ("", "bc", "6\n", "6"),
        ("", "bc", "", ""),
        ("", "bc", "6", None),
    ],
)
def test_the_output_is_all_but_the_prompt_and_the_line_end_before_it(
    line: str, program: str, text: str, output: str | None
) -> None:
    assert recognize_prompt(line, program).without_prompt(text) == output


@pytest.mark.parametrize("pattern", [r">>> $", r">>>$", r">>>", r"^>>> ?$", r">{3}\s"])
def test_a_given_pattern_is_looked_for_on_the_last_line(pattern: str) -> None:
    prompt = recognize_prompt("", "thing", search=re.compile(pattern).search)
    assert prompt.without_prompt("a >>> b\n>>> ") == "a >>> b"
    assert prompt.without_prompt("a >>> b\nc") is None


@pytest.mark.parametrize(
    ("line", "program", "typed"),
    [
        (">>> foo", "python3", "foo"),
        ("> foo", "node", "foo"),
        (">>> ", "python3", ""),
        ("dev> foo", "thing", ""),
        (">>> name: ", "thing", ""),
    ],
)
def test_what_somebody_typed_at_a_known_prompt_is_seen(line: str, program: str, typed: str) -> None:
    assert text_typed_at_prompt(line, program) == typed


def test_each_style_has_its_programs() -> None:
    styles = {recognize_prompt(line, program).kind.style for line, program, *_ in KNOWN}
    assert styles == set(InputStyle)
