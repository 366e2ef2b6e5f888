"""The shells, one row each. Where several rows fit, the first one is taken."""

from __future__ import annotations

from collections.abc import Mapping

from muxpilot.shell_table.kind import ShellKind
from muxpilot.terminal.escapes import CSI, PRIVATE_NUMBER

# Our private key. A shell with `has_key` binds it: it prints how much is typed, and makes the special
# characters of the next line plain text.
KEY = f"{CSI}{PRIVATE_NUMBER}~".encode()

# ksh93 reports a signal as 256 plus its number, all others as 128 plus its number.
_KSH_SIGNAL, _SIGNAL = 256, 128


def _start_with_env(file: str, options: str = "-l") -> str:
    """Return the line that starts a shell which reads the file that ENV names."""
    return f'muxpilot_env "$3/{file}"; exec "$SHELL" {options}'


# A person may have redefined any name. A backslash passes aliases by. `builtin` passes functions by, in the
# shells that have it; in the others no function can replace `.`, `eval`, `unset` and `exit`.
_BUILTIN_SOURCE, _BUILTIN_PRINTF = "\\builtin .", "\\builtin printf"
_BUILTIN_RESTORE = '\\builtin eval "\\builtin unset __muxpilot_status; (\\builtin exit $__muxpilot_status)"\n'
# In zsh a person's function named `builtin` would be called in its place. Then this is `-`: it does nothing.
_ZSH_BUILTIN = "${${functions[builtin]+-}:-builtin}"

_ROWS = (
    ShellKind(
        "bash",
        programs=("bash", "rbash"),
        version_variable="BASH_VERSION",
        installed_as="bash",
        is_setting=True,
        start_pattern="bash",
        start_line=_start_with_env("bash", "--posix -l"),  # only in POSIX mode bash reads ENV
        start_file="bash",
        start_script="bash-start.sh",
        script="bash.sh",
        typed_script="bash-typed.sh",
        marks_start=True,
        takes_paste=True,
        takes_pasted_tabs=True,
        has_key=True,
        numbers_ends=True,
        special_characters="!",
        editor_keeps_return=True,
        plain_prompt_bytes=1024,
        long_options_with_value=("--rcfile", "--init-file"),
        source=_BUILTIN_SOURCE,
        printf=_BUILTIN_PRINTF,
        restore_status_line=_BUILTIN_RESTORE,
    ),
    # bash before 4.4: no PS0 that could mark a start, and no key. Its script names itself so.
    ShellKind("oldbash", script="bash.sh"),
    ShellKind(
        "zsh",
        programs=("zsh",),
        version_variable="ZSH_VERSION",
        installed_as="zsh",
        is_setting=True,
        start_pattern="zsh",
        start_line=(
            '[ -z "${ZDOTDIR+x}" ] || export MUXPILOT_ZDOTDIR="$ZDOTDIR"; '
            'export ZDOTDIR="$3/zsh"; exec "$SHELL" -l'
        ),
        start_file="zsh/.zshenv",
        start_script="zsh-start.zsh",
        start_end="typeset -ga precmd_functions\nprecmd_functions=(__muxpilot_load $precmd_functions)\n",
        script="zsh.zsh",
        typed_script="zsh-typed.zsh",
        load_line="__muxpilot_load\n",
        marks_start=True,
        takes_paste=True,
        takes_pasted_tabs=True,
        has_key=True,
        decorates_echo=True,
        special_characters="!#^",
        long_options_with_value=("--emulate",),
        source=f"{_ZSH_BUILTIN} \\.",
        printf="$__muxpilot_c \\printf",
        keep_status_line=f"__muxpilot_status=$? __muxpilot_c={_ZSH_BUILTIN}\n",
        restore_status_line=(
            '$__muxpilot_c \\eval "\\\\$__muxpilot_c \\unset __muxpilot_status __muxpilot_c; '
            '(\\\\$__muxpilot_c \\exit $__muxpilot_status)"\n'
        ),
    ),
    ShellKind(
        "fish",
        programs=("fish",),
        version_variable="FISH_VERSION",
        installed_as="fish",
        is_setting=True,
        start_pattern="fish",
        start_line='exec "$SHELL" -l -C "source "$3/fish""',
        start_file="fish",
        start_end="command rm -rf -- (status dirname)\n",
        script="fish.fish",
        typed_script="fish-typed.fish",
        source="builtin source",
        printf="builtin printf",
        keep_status_line="",
        restore_status_line="",
        marks_start=True,
        takes_paste=True,
        has_key=True,
        decorates_echo=True,
        line_error=b"fish: ",
        drops_early_keys=True,
        read_looks_like_prompt=True,
        reports_stop_as_success=True,
        keeps_status_at_stop=True,
        short_options_with_value="oCdDfp",
        long_options_with_value=("--init-command", "--profile", "--features", "--debug"),
    ),
    # dash, and whatever else is called sh. A shell on the other side of ssh that sets no version variable is
    # treated as this one.
    ShellKind(
        "sh",
        programs=("sh", "dash"),
        installed_as="dash",
        start_pattern="sh|dash",
        start_line=_start_with_env("sh"),
        start_file="sh",
        start_script="posix-start.sh",
        script="sh.sh",
        has_line_editor=False,
    ),
    # busybox sh.
    ShellKind(
        "ash",
        programs=("ash",),
        installed_as="busybox",
        start_pattern="ash",
        start_line=_start_with_env("ash"),
        start_file="ash",
        start_script="posix-start.sh",
        script="ash.sh",
    ),
    # ksh93 and ksh2020.
    ShellKind(
        "ksh",
        programs=("ksh", "ksh93", "rksh", "rksh93", "ksh2020"),
        installed_as="ksh",
        start_pattern="ksh*",
        start_line=_start_with_env("ksh"),
        start_file="ksh",
        start_script="posix-start.sh",
        own_startup_file=".kshrc",
        script="sh.sh",
        read_looks_like_prompt=True,
        reports_stop_as_success=True,
    ),
    ShellKind(
        "mksh",
        programs=("mksh", "lksh"),
        version_variable="KSH_VERSION",  # ksh93 sets it, too
        version_pattern="MIRBSD|LEGACY",
        installed_as="mksh",
        start_pattern="mksh",
        start_line=_start_with_env("mksh"),
        start_file="mksh",
        start_script="posix-start.sh",
        own_startup_file=".mkshrc",
        script="mksh.sh",
        reports_stop_as_success=True,
    ),
    # Recognized, but without marks.
    ShellKind("pdksh", programs=("pdksh", "oksh")),
    ShellKind("yash", programs=("yash",)),
    ShellKind("tcsh", programs=("tcsh",)),
    ShellKind("csh", programs=("csh",), has_line_editor=False),
    ShellKind("elvish", programs=("elvish",), is_judged_by_policy=False),
    ShellKind("nu", programs=("nu",), start_pattern="nu", is_judged_by_policy=False),
    # Its program is python: it cannot be recognized as the foreground program of a pane.
    ShellKind("xonsh", start_pattern="xonsh", is_judged_by_policy=False),
)

SHELLS: Mapping[str, ShellKind] = {shell.name: shell for shell in _ROWS}

# The values of the setting `shell.type` that name a shell.
SETTING_NAMES = tuple(shell.name for shell in _ROWS if shell.is_setting)
# The programs that `muxpilot doctor` looks for.
INSTALLED_NAMES = tuple(shell.installed_as for shell in _ROWS if shell.installed_as)
# The programs that the policy reads `-c TEXT` of.
POLICY_NAMES = frozenset(name for shell in _ROWS if shell.is_judged_by_policy for name in shell.programs)


def exit_code(status: int) -> int:
    """Return the status that a shell's mark reports, with signals as 128 plus their number.

    No shell but ksh93 has a status above 256, so this needs no row.
    """
    return status - _KSH_SIGNAL + _SIGNAL if status > _KSH_SIGNAL else status
