"""Programs that run other programs: where, in their arguments, the inner command stands."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field

from muxpilot.policy.shell.words import Word
from muxpilot.records import record

SHELLS = frozenset("sh bash dash zsh ksh ksh93 mksh ash fish rbash csh tcsh yash".split())


@record
class Runner:
    """`valued` options take the next word; `before` words stand between the options and the command.

    A `plain` runner changes nothing about what runs: only its inner command is judged. `is_text` means
    that the rest is joined and given to a shell.
    """

    valued: frozenset[str] = field(default_factory=frozenset)
    before: int = 0
    is_plain: bool = False
    is_text: bool = False
    takes_assignments: bool = False


def _runner(valued: str = "", **more: bool | int) -> Runner:
    return Runner(frozenset(valued.split()), **more)  # type: ignore[arg-type]


RUNNERS: dict[str, Runner] = {
    "env": _runner("-u --unset -C --chdir", is_plain=True, takes_assignments=True),
    "nohup": _runner(is_plain=True),
    "setsid": _runner(is_plain=True),
    "time": _runner("-f --format -o --output", is_plain=True, takes_assignments=True),
    "!": _runner(is_plain=True, takes_assignments=True),
    "nice": _runner("-n --adjustment", is_plain=True),
    "ionice": _runner("-c -n -p --class --classdata", is_plain=True),
    "stdbuf": _runner("-i -o -e --input --output --error", is_plain=True),
    "timeout": _runner("-s --signal -k --kill-after", before=1, is_plain=True),
    "gtimeout": _runner("-s --signal -k --kill-after", before=1, is_plain=True),
    "command": _runner(is_plain=True),
    "builtin": _runner(is_plain=True),
    "exec": _runner("-a", is_plain=True),
    "coproc": _runner(is_plain=True, takes_assignments=True),
    "noglob": _runner(is_plain=True, takes_assignments=True),
    "nocorrect": _runner(is_plain=True, takes_assignments=True),
    "-": _runner(is_plain=True, takes_assignments=True),
    "and": _runner(is_plain=True, takes_assignments=True),
    "or": _runner(is_plain=True, takes_assignments=True),
    "not": _runner(is_plain=True, takes_assignments=True),
    "begin": _runner(is_plain=True, takes_assignments=True),
    "repeat": _runner(before=1, is_plain=True, takes_assignments=True),
    "unbuffer": _runner(is_plain=True),
    "caffeinate": _runner("-t -w", is_plain=True),
    "sudo": _runner(
        "-u --user -g --group -h --host -p --prompt -C -D --chdir -R --chroot -T -U", takes_assignments=True
    ),
    "doas": _runner("-u -C", takes_assignments=True),
    "pkexec": _runner("--user"),
    "setpriv": _runner("--reuid --regid --groups --inh-caps --ambient-caps --bounding-set"),
    "chroot": _runner("--userspec --groups", before=1),
    "unshare": _runner("-w --wd -R --root -S -G --setuid --setgid"),
    "nsenter": _runner("-t --target -S -G -w"),
    "taskset": _runner(before=1),
    "chrt": _runner(before=1),
    "strace": _runner("-e -o -p -s -u -E -P -I -O -S -a -b -X"),
    "ltrace": _runner("-e -o -p -s -u -n -a -A -D -F -l -x -X"),
    "gdb": _runner("-ex -x"),
    "xargs": _runner("-I -n -P -L -d -a -E -s --max-args --max-procs --arg-file --delimiter --replace"),
    "parallel": _runner("-j --jobs -a --arg-file --colsep -I --results --joblog", is_text=True),
    "watch": _runner("-n --interval", is_text=True),
    "entr": _runner(),
    "flock": _runner("-w --timeout -E", before=1),
    "ssh": _runner("-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w", before=1, is_text=True),
    "busybox": _runner(),
    "toybox": _runner(),
    "fakeroot": _runner("-l -s -i -b"),
    "systemd-run": _runner("-u --unit -p --property -E --setenv -H -M -d --uid --gid --nice"),
    "firejail": _runner(),
    "bwrap": _runner("--bind --ro-bind --symlink --setenv --chdir --proc --dev --tmpfs"),
    "dbus-run-session": _runner("--config-file"),
}

# The option whose value is text for a shell.
TEXT_OPTIONS: dict[str, tuple[str, ...]] = {
    "su": ("-c", "--command"),
    "runuser": ("-c", "--command"),
    "script": ("-c", "--command"),
    "sg": ("-c", "--command"),
    "newgrp": ("-c", "--command"),
    "capsh": ("-c",),
    "npx": ("-c", "--call"),
    "npm": ("-c", "--call"),
    "nix-shell": ("--run", "--command"),
    "mapfile": ("-C",),
    "readarray": ("-C",),
    "flock": ("-c", "--command"),
    "env": ("-S", "--split-string"),
    "bind": ("-x",),
    "complete": ("-C",),
    "compgen": ("-C",),
    "emulate": ("-c",),
    "xterm": ("-e",),
}

# Languages of their own: not read, but the strings in them are.
INTERPRETERS = frozenset(
    "python python2 python3 pypy pypy3 perl ruby node nodejs deno bun php lua luajit tclsh expect awk gawk "
    "mawk nawk osascript vim vi nvim ex ed emacs gdb tmux screen sqlite3 psql mysql irb ipython sed gsed "
    "make gmake lldb less more most view red".split()
)

# Programs that find files, and the options behind which they are given a command for them.
FINDERS: dict[str, tuple[str, ...]] = {
    "find": ("-exec", "-execdir", "-ok", "-okdir"),
    **dict.fromkeys(("fd", "fdfind"), ("-x", "-X", "--exec", "--exec-batch")),
}

# … and those that run one in a container, behind `run` or `exec`.
CONTAINERS = frozenset(
    "docker docker-compose podman podman-compose nerdctl kubectl oc crictl lxc incus".split()
)

# Variables whose value is run, or that change which program a name means.
_RUN_BY_SOMEBODY = re.compile(
    r"PROMPT_COMMAND|PS[0-4]|BASH_CMDS|BASH_ALIASES|ENV|BASH_ENV|EDITOR|VISUAL|(?:MAN)?PAGER|BROWSER|LESSOPEN|LESSCLOSE|"
    r"\w+_(?:PAGER|EDITOR|COMMAND|ASKPASS|SSH)|precmd_functions|preexec_functions"
)
_CHANGES_WHAT_RUNS = re.compile(
    r"PATH|LD_\w+|DYLD_\w+|PYTHON\w+|PERL\w+|RUBY\w+|NODE_\w+|IFS|CDPATH|FPATH|ZDOTDIR|SHELL|GIT_\w+|"
    r"BASH_FUNC_.*|GCONV_PATH|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|MAKEFLAGS"
)


# zsh keeps what names mean in these: `functions[f]='…'`.
_MEANINGS = re.compile(r"(?:dis_)?(?:functions|aliases|galiases|saliases|commands)\[")


def gives_meaning(assignment: str) -> bool:
    return _MEANINGS.match(assignment) is not None


def is_run_by_somebody(name: str) -> bool:
    return _RUN_BY_SOMEBODY.fullmatch(name) is not None


def changes_what_runs(name: str) -> bool:
    return is_run_by_somebody(name) or _CHANGES_WHAT_RUNS.fullmatch(name) is not None


def inner_of(runner: Runner, words: Sequence[Word]) -> tuple[list[Word], list[Word]]:
    """The assignments for the inner command, and the inner command."""
    at, left = 1, runner.before
    assignments: list[Word] = []
    while at < len(words):
        text = words[at].text
        if text == "--":
            at += 1
            break
        if text.startswith("-") and len(text) > 1 and (left == runner.before or runner.is_text):
            at += 2 if text in runner.valued else 1
        elif runner.takes_assignments and text.find("=") > 0:
            assignments.append(words[at])
            at += 1
        elif left:
            left, at = left - 1, at + 1
        else:
            break
    return assignments, list(words[at:])


def found_commands(words: Sequence[Word], starts: Sequence[str]) -> Iterator[list[Word]]:
    """What `find … -exec CMD {} ;` runs; a word with `{}` is a file's name, whatever that is."""
    inner: list[Word] | None = None
    for word in words[1:]:
        if inner is None:
            inner = [] if word.text in starts else None
        elif word.text in (";", "+"):
            yield inner
            inner = None
        else:
            inner.append(with_holes(word, "{}"))
    if inner:
        yield inner


def with_holes(word: Word, hole: str) -> Word:
    return Word(word.source, word.text, is_fixed=word.is_fixed and hole not in word.text)


def option_values(words: Sequence[Word], names: Sequence[str]) -> Iterator[Word]:
    """`-c TEXT`, `--command=TEXT`, `-cTEXT`, `-qc TEXT`, `-qcTEXT`."""
    for at, word in enumerate(words):
        if (word.text in names or _ends_cluster(word.text, names)) and at + 1 < len(words):
            yield words[at + 1]
        for name in names:
            glue = f"{name}=" if name.startswith("--") else name
            if word.text.startswith(glue) and len(word.text) > len(glue):
                yield Word(word.source, word.text[len(glue) :], word.is_fixed)
        letters = "".join(name[1] for name in names if len(name) == 2)
        cluster = re.match(rf"-[A-Za-z0-9]+?[{letters}](?=.)", word.text) if letters else None
        if cluster is not None:
            yield Word(word.source, word.text[cluster.end() :], word.is_fixed)


def _ends_cluster(text: str, names: Sequence[str]) -> bool:
    """`-qc` is `-q -c`."""
    return re.fullmatch(r"-[A-Za-z0-9]{2,}", text) is not None and f"-{text[-1]}" in names
