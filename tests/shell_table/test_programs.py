"""Which programs are shells, and which of them take commands from a person."""

from __future__ import annotations

import shlex

import pytest

from muxpilot.shell_table import SHELLS, recognize_shell, shell_with_marks, takes_commands


def recognize(names: list[str], argv: list[str]) -> str | None:
    shell = recognize_shell(names, argv)
    return shell.name if shell is not None else None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        *((name, name) for name in "bash zsh fish ash sh ksh mksh tcsh csh yash nu elvish".split()),
        ("dash", "sh"),
        ("lksh", "mksh"),
        ("-bash", "bash"),
        ("rbash", "bash"),
        ("ksh93", "ksh"),
        ("ksh2020", "ksh"),
        ("zsh-5.9", "zsh"),
        ("mksh-static", "mksh"),
        *((name, None) for name in ("ssh", "python3", "bashful", "fish.js", "sh.py", "bash-completion", "")),
    ],
)
def test_a_shell_is_known_by_its_name(name: str, kind: str | None) -> None:
    assert recognize([name], [name]) == kind


def test_the_first_name_that_says_something_is_believed() -> None:
    assert recognize(["bash", "sh"], ["-su"]) == "bash"
    assert recognize(["python3", "node"], []) is None


@pytest.mark.parametrize(
    ("words", "kind"),
    [
        ("busybox sh", "ash"),
        ("/bin/busybox ash -l", "ash"),
        ("sh", "ash"),
        ("-sh", "ash"),
        ("/bin/ash", "ash"),
        ("busybox vi", None),
        ("busybox", None),
        ("vi", None),
    ],
)
def test_busybox_is_a_shell_when_it_is_called_as_one(words: str, kind: str | None) -> None:
    assert recognize(["busybox"], shlex.split(words)) == kind


@pytest.mark.parametrize(
    ("words", "takes"),
    [
        ("bash", True),
        ("-bash", True),
        ("bash -l", True),
        ("bash --norc --noprofile", True),
        ("bash --rcfile /tmp/x", True),
        ("bash --rcfile /tmp/x -i", True),
        ("bash -o vi", True),
        ("bash +O extglob", True),
        ("bash -c true", False),
        ("bash -lc true", False),
        ("bash -l -c true", False),
        ("bash -c -i true", True),
        ("bash -ic true", True),
        ("bash script", False),
        ("bash -x script -i", False),
        ("bash --norc script", False),
        ("bash -- script", False),
        ("bash --", True),
        ("bash -s a b", True),
        ("bash -o errexit script", False),
        ("zsh -f", True),
        ("zsh -f script", False),
        ("fish --no-config", True),
        ("fish -N", True),
        ("fish -C 'echo x'", True),
        ("fish --init-command 'echo x'", True),
        ("fish --command=true", False),
        ("fish -c true", False),
        ("dash -", True),
        ("busybox sh", True),
        ("busybox sh -c true", False),
        ("busybox sh script", False),
    ],
)
def test_a_shell_takes_commands_unless_it_has_got_them(words: str, takes: bool) -> None:
    argv = shlex.split(words)
    shell = recognize_shell([argv[0].lstrip("-")], argv)
    assert shell is not None
    assert takes_commands(shell, argv) is takes


@pytest.mark.parametrize(
    ("program", "kind"),
    [
        ("/usr/bin/bash", "bash"),
        ("dash", "sh"),
        ("busybox", "ash"),
        ("ksh93", "ksh"),
        ("yash", None),
        ("vi", None),
    ],
)
def test_a_program_has_marks_if_there_is_a_script_for_it(program: str, kind: str | None) -> None:
    assert shell_with_marks(program) == (SHELLS[kind] if kind is not None else None)
