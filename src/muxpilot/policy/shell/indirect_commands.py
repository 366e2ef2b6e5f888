"""Programs that run commands in less regular ways. Whatever may be a command is found, on the safe side."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from muxpilot.policy.shell.words import Word
from muxpilot.policy.shell.wrappers import changes_what_runs, option_values

# Programs whose command may begin at any word.
_STARTS_ANYWHERE = re.compile(
    r"setarch|linux32|linux64|i386|x86_64|uname26|prlimit|choom|capsh|start-stop-daemon|ip|perf|valgrind|"
    r"chronic|faketime|ssh-agent|dbus-launch|xvfb-run|systemd-inhibit|rlwrap|catchsegv|eatmydata|numactl|"
    r"cgexec|daemonize|aa-exec|cpulimit|ts|proxychains4?|torsocks|torify|proot|fakechroot|unsh|s6-\w+|"
    r"uv|uvx|poetry|pipenv|pdm|hatch|bundle|direnv|npx|npm|pnpm|yarn|nix|nix-shell|rbenv|pyenv|mise|asdf|"
    r"runuser|sg|newgrp|ld\.so|ld-(?:linux|musl)\S*|ld64\S*|abbr|sched|zpty|runcon|tsocks|dtach|abduco|reptyr|"
    r"watchexec|hyperfine|nodemon|concurrently|dotenv|chpst|su-exec|gosu|tini|dumb-init|logsave|ifne|conda|mamba|"
    r"micromamba|annotate-output|bunx|pnpx|rye|nsjail|distrobox|toolbox|flatpak-spawn|lxc-attach|machinectl|rr|"
    r"ccache|distcc|sccache|bear|scan-build|mpirun|mpiexec|srun|sem|foreman|honcho|steam-run"
)

# Options whose value may be a command, by itself or as NAME=command.
_COMMAND_OPTIONS: dict[str, tuple[str, ...]] = {
    "git": (
        "-O",
        "--open-files-in-pager",
        "-c",
        "-x",
        "--exec",
        "--extcmd",
        "--upload-pack",
        "--receive-pack",
        *(f"--{what}-filter" for what in "tree index env msg commit parent tag-name".split()),
    ),
    "ssh": ("-o",),
    "rg": ("--pre",),
    "fzf": ("--preview", "--bind"),
    **dict.fromkeys(("bat", "batcat"), ("--pager",)),
    "scp": ("-o", "-S"),
    "sftp": ("-o", "-S"),
    "rsync": ("-e", "--rsh"),
    "tar": ("--checkpoint-action", "-I", "--use-compress-program", "--to-command", "-F", "--info-script"),
    "sort": ("--compress-program",),
    "man": ("-P", "--pager", "-H", "--html"),
    "start-stop-daemon": ("-x", "--exec", "-a", "--startas"),
    "make": ("--eval",),
    "split": ("--filter",),
    "zip": ("-TT", "--unzip-command"),
    **dict.fromkeys(("nc", "ncat", "netcat"), ("-e", "-c", "--exec", "--sh-exec")),
}

# Words that are a command after a prefix.
_PREFIXED_COMMANDS: dict[str, re.Pattern[str]] = {
    "socat": re.compile(r"(?:EXEC|SYSTEM|SHELL):(.+)", re.I | re.S)
}

# Words that a command follows.
_WORDS_BEFORE_COMMAND: dict[str, frozenset[str]] = {"git": frozenset({"run", "foreach", "config"})}

# How a language or an editor runs a shell command.
_BANG = re.compile(r"!\s*(.+)", re.DOTALL)
_SHELL_WORD = re.compile(r"(?:^|[\s;])(?:shell|pipe|make|!)\s*(.+)", re.DOTALL)
_SHELL_ESCAPES: dict[str, re.Pattern[str]] = {
    **dict.fromkeys("vi vim nvim view ex ed red less more most".split(), _BANG),
    **dict.fromkeys("gdb lldb".split(), _SHELL_WORD),
    **dict.fromkeys("psql mysql".split(), re.compile(r"(?:\\!|system)\s+(.+)", re.DOTALL)),
    "sqlite3": re.compile(r"\.(?:shell|system)\s+(.+)", re.DOTALL),
    **dict.fromkeys("expect tclsh".split(), re.compile(r"(?:spawn|exec|system)\s+(.+)", re.DOTALL)),
    **dict.fromkeys("sed gsed".split(), re.compile(r"(?:^|[\d$/;{}!\s])e\s+(.+)", re.DOTALL)),
}

_MOST_PLACES = 5
_VARIABLE_PREFIX = re.compile(r"[\w.-]+[ =]")

# Builtins that take an argument as a variable's name, and run what its subscript holds.
READS_VARIABLE_NAME = frozenset(
    "let test [ unset printf read mapfile readarray getopts wait integer float".split()
)
# Builtins that expand their arguments.
EXPANDS_TEXT = frozenset("compgen print".split())
_SETS_VARIABLE = frozenset("read mapfile readarray getopts".split())


def may_start_anywhere(name: str) -> bool:
    return _STARTS_ANYWHERE.fullmatch(name) is not None


def possible_commands(name: str, words: Sequence[Word]) -> Iterator[str]:
    """Yield the texts among the arguments that may be run."""
    for value in option_values(words[1:], _COMMAND_OPTIONS.get(name, ())):
        yield value.text
        yield _VARIABLE_PREFIX.sub("", value.text, count=1).lstrip("!")
    if name in _PREFIXED_COMMANDS:
        yield from (found[1] for word in words[1:] for found in _PREFIXED_COMMANDS[name].finditer(word.text))
    after = _WORDS_BEFORE_COMMAND.get(name, frozenset())
    places = (at for at, word in enumerate(words) if word.text in after)
    for at in islice(places, _MOST_PLACES):
        yield " ".join(item.text for item in words[at + 1 :]).lstrip("!")
        yield " ".join(item.text for item in words[at + 2 :]).lstrip("!")


def shell_escapes(name: str, text: str) -> Iterator[str]:
    pattern = _SHELL_ESCAPES.get(name)
    if pattern is not None:
        yield from (found[1] for found in pattern.finditer(text))


def find_variable_set(name: str, words: Sequence[Word]) -> str | None:
    """Return a variable that changes what runs and that this builtin would set to an unknown value."""
    named = option_values(words[1:], ("-v",)) if name == "printf" else ()
    places = [*named, *(words[1:] if name in _SETS_VARIABLE else ())]
    names = (word.text.partition("[")[0] for word in places)
    return next((item for item in names if changes_what_runs(item)), None)
