"""Programs that run other programs, and where in their arguments the inner command is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field

from muxpilot.policy.shell.words import Word
from muxpilot.records import record


@record
class Wrapper:
    """A program that runs the command in its arguments.

    `options_with_value` take the next word. `before` counts the words between the options and the command.
    `is_plain`: it changes nothing about what runs, so only the inner command is judged. `is_text`: the rest
    is joined and given to a shell.
    """

    options_with_value: frozenset[str] = field(default_factory=frozenset)
    before: int = 0
    is_plain: bool = False
    is_text: bool = False
    takes_assignments: bool = False


def _wrapper(options_with_value: str = "", **more: bool | int) -> Wrapper:
    return Wrapper(frozenset(options_with_value.split()), **more)  # type: ignore[arg-type]


WRAPPERS: dict[str, Wrapper] = {
    "env": _wrapper("-u --unset -C --chdir", is_plain=True, takes_assignments=True),
    "nohup": _wrapper(is_plain=True),
    "setsid": _wrapper(is_plain=True),
    "time": _wrapper("-f --format -o --output", is_plain=True, takes_assignments=True),
    "!": _wrapper(is_plain=True, takes_assignments=True),
    "nice": _wrapper("-n --adjustment", is_plain=True),
    "ionice": _wrapper("-c -n -p --class --classdata", is_plain=True),
    "stdbuf": _wrapper("-i -o -e --input --output --error", is_plain=True),
    "timeout": _wrapper("-s --signal -k --kill-after", before=1, is_plain=True),
    "gtimeout": _wrapper("-s --signal -k --kill-after", before=1, is_plain=True),
    "command": _wrapper(is_plain=True),
    "builtin": _wrapper(is_plain=True),
    "exec": _wrapper("-a", is_plain=True),
    "coproc": _wrapper(is_plain=True, takes_assignments=True),
    "noglob": _wrapper(is_plain=True, takes_assignments=True),
    "nocorrect": _wrapper(is_plain=True, takes_assignments=True),
    "-": _wrapper(is_plain=True, takes_assignments=True),
    "and": _wrapper(is_plain=True, takes_assignments=True),
    "or": _wrapper(is_plain=True, takes_assignments=True),
    "not": _wrapper(is_plain=True, takes_assignments=True),
    "begin": _wrapper(is_plain=True, takes_assignments=True),
    "repeat": _wrapper(before=1, is_plain=True, takes_assignments=True),
    "unbuffer": _wrapper(is_plain=True),
    "caffeinate": _wrapper("-t -w", is_plain=True),
    "sudo": _wrapper(
        "-u --user -g --group -h --host -p --prompt -C -D --chdir -R --chroot -T -U", takes_assignments=True
    ),
    "doas": _wrapper("-u -C", takes_assignments=True),
    "pkexec": _wrapper("--user"),
    "setpriv": _wrapper("--reuid --regid --groups --inh-caps --ambient-caps --bounding-set"),
    "chroot": _wrapper("--userspec --groups", before=1),
    "unshare": _wrapper("-w --wd -R --root -S -G --setuid --setgid"),
    "nsenter": _wrapper("-t --target -S -G -w"),
    "taskset": _wrapper(before=1),
    "chrt": _wrapper(before=1),
    "strace": _wrapper("-e -o -p -s -u -E -P -I -O -S -a -b -X"),
    "ltrace": _wrapper("-e -o -p -s -u -n -a -A -D -F -l -x -X"),
    "gdb": _wrapper("-ex -x"),
    "xargs": _wrapper("-I -n -P -L -d -a -E -s --max-args --max-procs --arg-file --delimiter --replace"),
    "parallel": _wrapper("-j --jobs -a --arg-file --colsep -I --results --joblog", is_text=True),
    "watch": _wrapper("-n --interval", is_text=True),
    "entr": _wrapper(),
    "flock": _wrapper("-w --timeout -E", before=1),
    "ssh": _wrapper("-b -c -D -E -e -F -I -i -J -L -l -m -O -o -p -Q -R -S -W -w", before=1, is_text=True),
    "busybox": _wrapper(),
    "toybox": _wrapper(),
    "fakeroot": _wrapper("-l -s -i -b"),
    "systemd-run": _wrapper("-u --unit -p --property -E --setenv -H -M -d --uid --gid --nice"),
    "firejail": _wrapper(),
    "bwrap": _wrapper("--bind --ro-bind --symlink --setenv --chdir --proc --dev --tmpfs"),
    "dbus-run-session": _wrapper("--config-file"),
}

# Options whose value is text for a shell.
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

# Interpreters of other languages. Their programs are not parsed, but the strings in them are judged.
INTERPRETERS = frozenset(
    "python python2 python3 pypy pypy3 perl ruby node nodejs deno bun php lua luajit tclsh expect awk gawk "
    "mawk nawk osascript vim vi nvim ex ed emacs gdb tmux screen sqlite3 psql mysql irb ipython sed gsed "
    "make gmake lldb less more most view red".split()
)

# Programs that find files, and the options before a command that they run for each file.
FINDERS: dict[str, tuple[str, ...]] = {
    "find": ("-exec", "-execdir", "-ok", "-okdir"),
    **dict.fromkeys(("fd", "fdfind"), ("-x", "-X", "--exec", "--exec-batch")),
}

# Programs that run a command in a container, after `run` or `exec`.
CONTAINERS = frozenset(
    "docker docker-compose podman podman-compose nerdctl kubectl oc crictl lxc incus".split()
)

# Variables whose value is run later.
_RUN_LATER = re.compile(
    r"PROMPT_COMMAND|PS[0-4]|BASH_CMDS|BASH_ALIASES|ENV|BASH_ENV|EDITOR|VISUAL|(?:MAN)?PAGER|BROWSER|LESSOPEN|LESSCLOSE|"
    r"\w+_(?:PAGER|EDITOR|COMMAND|ASKPASS|SSH)|precmd_functions|preexec_functions"
)
# Variables that change which program or library a name means.
_CHANGES_WHAT_RUNS = re.compile(
    r"PATH|LD_\w+|DYLD_\w+|PYTHON\w+|PERL\w+|RUBY\w+|NODE_\w+|IFS|CDPATH|FPATH|ZDOTDIR|SHELL|GIT_\w+|"
    r"BASH_FUNC_.*|GCONV_PATH|JAVA_TOOL_OPTIONS|_JAVA_OPTIONS|MAKEFLAGS"
)


# Arrays in which zsh keeps what names mean: `functions[f]='…'`.
_NAME_TABLES = re.compile(r"(?:dis_)?(?:functions|aliases|galiases|saliases|commands)\[")


def redefines_name(assignment: str) -> bool:
    return _NAME_TABLES.match(assignment) is not None


def is_run_later(name: str) -> bool:
    return _RUN_LATER.fullmatch(name) is not None


def changes_what_runs(name: str) -> bool:
    return is_run_later(name) or _CHANGES_WHAT_RUNS.fullmatch(name) is not None


def split_inner_command(wrapper: Wrapper, words: Sequence[Word]) -> tuple[list[Word], list[Word]]:
    """Return the assignments for the inner command, and the inner command."""
    at, left = 1, wrapper.before
    assignments: list[Word] = []
    while at < len(words):
        text = words[at].text
        if text == "--":
            at += 1
            break
        if text.startswith("-") and len(text) > 1 and (left == wrapper.before or wrapper.is_text):
            at += 2 if text in wrapper.options_with_value else 1
        elif wrapper.takes_assignments and text.find("=") > 0:
            assignments.append(words[at])
            at += 1
        elif left:
            left, at = left - 1, at + 1
        else:
            break
    return assignments, list(words[at:])


@record
class ShellCall:
    """How a shell is called. `has_text`: `script` is text to run, the value of `-c`; else it is a file.

    Each of `start_files` is an option and the file that it names.
    """

    has_text: bool
    script: Word | None
    start_files: Sequence[Sequence[Word]]


def parse_shell_call(words: Sequence[Word]) -> ShellCall:
    """Parse the command line of a shell: `bash --rcfile FILE -o OPTION -c TEXT`."""
    has_text, at = False, 1
    start_files: list[Sequence[Word]] = []
    while at < len(words) and words[at].text[:1] in ("-", "+") and words[at].text not in ("-", "--"):
        option = words[at].text
        is_long = option.startswith("--")
        names_file = option in ("--rcfile", "--init-file")
        if names_file:
            start_files.append(words[at : at + 2])
        has_text = has_text or option == "--command" or (not is_long and "c" in option)
        at += 2 if names_file or (not is_long and option[-1] in "oO") else 1
    if at < len(words) and words[at].text in (("-", "--") if has_text else ("--",)):
        at += 1
    return ShellCall(has_text, words[at] if at < len(words) else None, start_files)


def split_find_commands(words: Sequence[Word], starts: Sequence[str]) -> Iterator[list[Word]]:
    """Yield what `find … -exec CMD {} ;` runs. A word with `{}` becomes a file's name, so it is not fixed."""
    inner: list[Word] | None = None
    for word in words[1:]:
        if inner is None:
            inner = [] if word.text in starts else None
        elif word.text in (";", "+"):
            yield inner
            inner = None
        else:
            inner.append(with_placeholder(word, "{}"))
    if inner:
        yield inner


def with_placeholder(word: Word, hole: str) -> Word:
    return Word(word.source, word.text, is_fixed=word.is_fixed and hole not in word.text)


def option_values(words: Sequence[Word], names: Sequence[str]) -> Iterator[Word]:
    """Yield the values of options: `-c TEXT`, `--command=TEXT`, `-cTEXT`, `-qc TEXT`, `-qcTEXT`."""
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
    """Return whether a cluster of options ends with one of these: `-qc` is `-q -c`."""
    return re.fullmatch(r"-[A-Za-z0-9]{2,}", text) is not None and f"-{text[-1]}" in names
