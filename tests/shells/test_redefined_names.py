"""A person may redefine any name of a shell: our hooks still print their marks, and nothing else."""

from __future__ import annotations

import pytest

from tests.shells.conftest import NESTED, Desk

pytestmark = pytest.mark.asyncio(loop_scope="module")

_POSIX_FUNCTIONS = "printf echo test true read"
_POSIX_ALIASES = "printf echo test eval unset set exit export shift read command"
# The names that become functions and aliases that print a word.
FUNCTIONS = {
    "bash": "printf echo test [ true : unset eval set local return history bind shopt declare . source exit",
    "zsh": "printf print echo test [ true : unset eval set setopt emulate return zle bindkey fc . source",
    "fish": "source",
    "dash": _POSIX_FUNCTIONS,
    "ash": _POSIX_FUNCTIONS,
    "ksh93": "printf echo test true",
    "mksh": "printf echo test true print",
}
ALIASES = {
    "bash": "printf echo test unset eval set local return history bind shopt declare source builtin for if",
    "zsh": "printf print echo test unset eval set setopt emulate return zle bindkey builtin local typeset",
    "fish": "",
    "dash": _POSIX_ALIASES,
    "ash": _POSIX_ALIASES,
    "ksh93": _POSIX_ALIASES,
    "mksh": _POSIX_ALIASES,
}


# The word that it prints is not in its own text, which the screen shows.
PRINT_FAKE = '/bin/echo fa""ke'


def redefine_functions(shell: str) -> str:
    form = "function {0}; %s; end" if shell == "fish" else "{0}() {{ %s; }}"
    # Debian's own hooks of zsh call printf.
    begin = "zle -D zle-line-init zle-line-finish 2>/dev/null; " if shell == "zsh" else ""
    return begin + "; ".join((form % PRINT_FAKE).format(name) for name in FUNCTIONS[shell].split())


def redefine_aliases(shell: str) -> str:
    return "; ".join(f"alias {name}='{PRINT_FAKE} '" for name in ALIASES[shell].split())


REDEFINE = {"functions": redefine_functions, "aliases": redefine_aliases}
CASES = [(shell, how) for shell in FUNCTIONS for how in REDEFINE if how == "functions" or ALIASES[shell]]


async def check_commands(desk: Desk, pane: str, shell: str) -> None:
    """Check results and the screen. fish's own functions call what was redefined, also for its prompt."""
    for code in (0, 3, 5):
        answer = await desk.run(pane, f"/bin/sh -c 'echo out; exit {code}'", timeoutSeconds=10)
        assert (answer["output"], answer["exitCode"]) == ("out\n", code)
    assert shell == "fish" or "fake" not in desk.screen(pane)


@pytest.mark.parametrize(("shell", "how"), CASES)
async def test_names_that_are_redefined_change_no_result(desk: Desk, shell: str, how: str) -> None:
    pane = await desk.own_pane(shell)
    assert (await desk.run(pane, REDEFINE[how](shell)))["exitCode"] == 0
    await check_commands(desk, pane, shell)


@pytest.mark.parametrize(("shell", "how"), CASES)
async def test_a_persons_shell_with_redefined_names_is_joined(desk: Desk, shell: str, how: str) -> None:
    desk.find_program(shell)
    pane = await desk.person_pane(*NESTED[shell].split(), shows="#")
    desk.type_as_person(pane, REDEFINE[how](shell) + "; /bin/echo re''ady", "Enter")
    await desk.wait_for_screen(pane, "\nready")
    await check_commands(desk, pane, shell)


# bash cannot be asked for its own `builtin` if that is a function. One that calls it does no harm.
@pytest.mark.parametrize("shell", ["bash", "zsh", "dash", "ash", "ksh93", "mksh"])
async def test_commands_end_if_the_words_that_protect_us_are_redefined(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    await desk.run(pane, f"command() {{ {PRINT_FAKE}; }}")
    await check_commands(desk, pane, shell)
    await desk.run(pane, "unset -f command")
    if shell in ("bash", "zsh"):
        await desk.run(pane, 'builtin() { command builtin "$@"; }')
    await check_commands(desk, pane, shell)


# What that function prints is in the output.
async def test_a_builtin_that_does_something_else_holds_nothing_up_in_bash(desk: Desk) -> None:
    pane = await desk.own_pane("bash")
    await desk.run(pane, f"builtin() {{ {PRINT_FAKE}; }}")
    for code in (3, 0, 5):
        assert (await desk.run(pane, f"/bin/sh -c 'exit {code}'"))["exitCode"] == code


async def test_a_builtin_that_does_something_else_is_not_called_in_zsh(desk: Desk) -> None:
    pane = await desk.own_pane("zsh")
    await desk.run(pane, f"builtin() {{ {PRINT_FAKE}; }}")
    await check_commands(desk, pane, "zsh")
    assert (await desk.run(pane, "echo '"))["waitingForInput"]
    await check_commands(desk, pane, "zsh")
    assert (await desk.run(pane, "builtin true"))["output"] == "fake\n"  # it is still there


async def test_a_persons_zsh_with_a_builtin_that_does_something_else_is_joined(desk: Desk) -> None:
    desk.find_program("zsh")
    pane = await desk.person_pane(*NESTED["zsh"].split(), shows="#")
    desk.type_as_person(pane, f"builtin() {{ {PRINT_FAKE}; }}; /bin/echo re''ady", "Enter")
    await desk.wait_for_screen(pane, "\nready")
    await check_commands(desk, pane, "zsh")


@pytest.mark.parametrize("name", ["printf", "functions", "math", "echo", "bind", "commandline", "count"])
async def test_names_that_fish_itself_uses_around_a_command_end_nothing(desk: Desk, name: str) -> None:
    pane = await desk.own_pane("fish")
    await desk.run(pane, f"function {name}; {PRINT_FAKE}; end")
    for code in (0, 3):
        answer = await desk.run(pane, f"/bin/sh -c 'echo out; exit {code}'", timeoutSeconds=10)
        assert (answer["output"].splitlines()[-1], answer["exitCode"]) == ("out", code)


# A set of options that change how a shell expands, traces or fails.
OPTIONS = {
    "bash": "set -u; shopt -s extdebug; set -o posix; trap 'true' DEBUG",
    "zsh": "setopt ksh_arrays sh_word_split no_unset prompt_subst glob_subst null_glob",
    "dash": "set -u",
    "ash": "set -u",
    "ksh93": "set -u",
    "mksh": "set -u",
}


@pytest.mark.parametrize("shell", OPTIONS)
async def test_options_change_no_result(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    assert (await desk.run(pane, OPTIONS[shell]))["exitCode"] == 0
    await check_commands(desk, pane, shell)
    assert (await desk.run(pane, 'echo "'))["waitingForInput"]
    await check_commands(desk, pane, shell)


@pytest.mark.parametrize("shell", OPTIONS)
async def test_a_prompt_that_a_person_made_readonly_changes_no_result(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    await desk.run(pane, "readonly PS1")
    await check_commands(desk, pane, shell)


async def test_a_syntax_error_is_told_after_the_hook_was_removed(desk: Desk) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "unset PROMPT_COMMAND")
    answer = await desk.run(pane, "echo end)")
    assert (answer["status"], answer["exitCode"]) == ("failed", 2)
    assert "syntax error" in answer["output"]
    assert (await desk.run(pane, "sh -c 'exit 6'"))["exitCode"] == 6
    assert (await desk.run(pane, 'echo "${PS1@P}" | wc -l; sh -c "exit 4"'))["exitCode"] == 4


@pytest.mark.parametrize("shell", ["zsh", "fish"])
async def test_the_statuses_of_a_pipeline_are_kept_for_the_next_command(desk: Desk, shell: str) -> None:
    pane = await desk.own_pane(shell)
    await desk.run(pane, "true | false | true")
    assert (await desk.run(pane, "echo $pipestatus"))["output"] == "0 1 0\n"


async def test_what_bash_knows_of_the_last_command_is_kept_for_the_next(desk: Desk) -> None:
    pane = await desk.own_pane()
    await desk.run(pane, "[[ ab =~ a(b) ]]; true last | false | true last")
    assert (await desk.run(pane, 'echo "${PIPESTATUS[@]}" "${BASH_REMATCH[1]}"'))["output"] == "0 1 0 b\n"
    await desk.run(pane, "true kept")
    assert (await desk.run(pane, "echo $_"))["output"] == "kept\n"
