"""The lines of sh that run tmux on another host. They need `/bin/sh`, `cat` and tmux there, and use no more.

The program that reaches the host starts a POSIX shell that reads one line and runs it. That line, and after
it whatever tmux reads, is sent to stdin. So no text of ours is ever quoted for a login shell that we do not
know.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterable, Sequence

from muxpilot.tmux import quote
from muxpilot.tmux.hosts.endpoint import Command

# What the shell there is started with. It must have no character that a program on the way could change.
READ_AND_RUN = 'IFS= read -r muxpilot; eval "$muxpilot"'

# The first line that the far shell reads. It makes `$1` the prefix of a command that must end with the
# connection (see child_process.py): when sshd is cut off, it signals no process, and a tmux client whose last
# output is not read would stay forever. In a container the parent is outside, has no number, and may be about
# to end by itself.
_DIE_WITH_CONNECTION = (
    b'l=; [ "${PPID:-0}" -lt 2 ] || { l="setpriv --pdeathsig KILL"; $l true >/dev/null 2>&1 || l=; }; '
    b'exec $l /bin/sh -c \'IFS= read -r muxpilot; eval "$muxpilot"\' muxpilot "$l"\n'
)
_EXTRA_PATH = "/usr/local/bin:/opt/homebrew/bin:/opt/local/bin:$HOME/.local/bin:$HOME/bin"
# `$n` is a line feed. The banner end is printed to both outputs: what the login shell prints comes before it.
_PREPARE = (
    f"unset TMUX TMUX_PANE; command -v tmux >/dev/null || PATH=$PATH:{_EXTRA_PATH}; "
    "n=$(printf '\\nx'); n=${n%x}; echo; echo BANNER_END; echo BANNER_END >&2; "
)
# A tmux server takes its shell from SHELL, else from the user database. Users of containers often have
# `nologin` there, with which no pane would live.
_CHOOSE_SHELL = (
    's=${SHELL-}; u=$(id -u 2>/dev/null); [ -n "$s" ] || [ -z "$u" ] || [ ! -r /etc/passwd ] || '
    'while IFS=: read -r a b c d; do [ "$c" != "$u" ] || s=${d##*:}; done </etc/passwd; '
    "case $s in */nologin|*/false|*/true) SHELL=/bin/sh; export SHELL;; esac; "
)
NO_TMUX = "muxpilot: no tmux"
_REQUIRE_TMUX = b'command -v BINARY >/dev/null || { echo "' + NO_TMUX.encode() + b'" >&2; exit 127; }; '

# The hub session must end with the connection, however it ends. So its program waits for the end of a pipe
# whose only writers are this shell and the tmux client; `$f` tells it which. The first that works is used:
#   a FIFO in a folder of our own,
#   a pipe of the shell, which another process can open by its path in /proc,
#   a word that this shell says to tmux after its client has ended (not if the shell is killed).
# The trap: when the client is killed, some shells print so, where perhaps no program reads it any more.
_RUN_WITH_HUB = (
    b"trap : PIPE; "
    b"d=${TMPDIR:-/tmp}/muxpilot-TOKEN f=$d/fifo; t=$(command -v BINARY); m() { $l COMMAND; }; l=$1; "
    b"if command -v mkdir >/dev/null && command -v mkfifo >/dev/null && command -v rm >/dev/null "
    b'&& (umask 077; mkdir "$d" && { mkfifo "$f" || { rm -rf "$d"; false; }; }) 2>/dev/null '
    b'&& command exec 9<>"$f"; then m; s=$?; rm -rf "$d"; exit $s; '
    b'elif [ -e "/proc/$$/fd/1" ]; then exec 8>&1; '
    b"{ exec 9>&1 >&8 8>&-; f=/proc/$(exec /bin/sh -c 'echo $PPID')/fd/9; m; } "
    b"| { exec 8>&-; exec cat >/dev/null; }; exit; "
    b'else f=word:muxpilot-TOKEN; m; s=$?; SERVER wait-for -S "${f#word:}"; exit $s; fi'
)
# What the hub's program does on another host: $1 is `$f`, $2 the text to show, $3 the tmux program.
HUB_SCRIPT = (
    'case $1 in word:*) ;; *) exec 4<>"$1" 3<"$1" 4<&- || exit;; esac; '
    'case $1 in */fifo) rm -rf "${1%/*}";; esac; printf %s "$2"; '
    'case $1 in word:*) exec "$3" wait-for "${1#word:}";; esac; exec cat <&3 >/dev/null'
)

# What tmux runs some time after a heartbeat. The variables are those of the hub session at that time. If the
# hub is gone and has a successor, the clients live on with that. tmux would show output, and a status, to
# people. tmux 3.3a lets no client go that it has more to tell, if that is not read: so the processes that are
# left are killed. Their numbers are wrong if tmux is in other namespaces, so each must be a tmux.
_END_WITHOUT_HEARTBEAT = (
    'exec </dev/null >/dev/null 2>&1; t() { "$MUXPILOT_TMUX" "$@"; }; '
    'k() { n=tmux; [ ! -e /proc/self ] || IFS= read -r n <"/proc/$1/comm" || n=; '
    'case $n in *tmux*) kill -KILL "$1"; esac; }; '
    '[ "$MUXPILOT_HEARTBEAT" != NUMBER ] || { ! t has-session -t =HUB && t has-session -t FAMILY; } || { '
    'for c in CLIENTS; do t detach-client -t "client-$c"; done; t detach-client -s =HUB; '
    "t list-clients -F '#{client_pid} #{client_control_mode} #{client_session}' | while read -r p m s; do "
    'case "$m $s" in "1 HUB") k "$p"; esac; case " CLIENTS " in *" $p "*) k "$p"; esac; done; }; exit 0'
)


class FarShellWord(str):
    """A word that the far shell expands, so it must not be quoted."""

    __slots__ = ()


FAR_PIPE, FAR_TMUX = FarShellWord('"$f"'), FarShellWord('"$t"')
FAR_TMUX_VARIABLE = FarShellWord('"MUXPILOT_TMUX=$t"')


def tmux_lines(
    server: Sequence[bytes], flags: Iterable[str], commands: Sequence[Command], *, prepare: bytes
) -> bytes:
    """Return the lines that run tmux. `server` is the program, as a quoted word, and its flags."""
    command = b" ".join([*server, *map(quote_for_shell, flags), *_join_for_shell(commands)])
    begin = _DIE_WITH_CONNECTION + prepare + _REQUIRE_TMUX.replace(b"BINARY", server[0])
    if FAR_PIPE not in (word for each in commands for word in each):
        return begin + b"exec $1 " + command + b"\n"
    parts = {
        b"TOKEN": secrets.token_hex(16).encode(),
        b"BINARY": server[0],
        b"SERVER": b" ".join(server),
        b"COMMAND": command,
    }
    line = re.sub(rb"\b(?:TOKEN|BINARY|SERVER|COMMAND)\b", lambda found: parts[found[0]], _RUN_WITH_HUB)
    return begin + line + b"\n"


def end_without_heartbeat(hub: str, number: int, clients: Iterable[int]) -> str:
    """Return the line that ends a hub and these clients, unless another heartbeat has followed this one.

    All hubs of one connection have names that differ in the last part only.
    """
    parts = {
        "HUB": hub,
        "FAMILY": hub.rpartition("-")[0] + "-",
        "NUMBER": str(number),
        "CLIENTS": " ".join(map(str, clients)),
    }
    return re.sub(r"\b(?:HUB|FAMILY|NUMBER|CLIENTS)\b", lambda found: parts[found[0]], _END_WITHOUT_HEARTBEAT)


def script_lines(script: str, *, prepare: bytes) -> bytes:
    """Return the lines that run a script of ours instead of tmux."""
    return _DIE_WITH_CONNECTION + prepare + b"eval " + quote_for_shell(script) + b"\n"


def prepare_line(banner_end: str, *, inherited: Sequence[str] = ()) -> bytes:
    """Return what comes before the command: print the banner end, find tmux.

    `inherited` are names of our variables that tmux must not get. They count where the far shell has the
    banner end in MUXPILOT_FROM: then its variables are ours.
    """
    prepare = _CHOOSE_SHELL + _PREPARE.replace("BANNER_END", banner_end)
    names = " ".join(("MUXPILOT_FROM", *inherited))
    return f'[ "$MUXPILOT_FROM" != {banner_end} ] || unset {names}; {prepare}'.encode()


def quote_for_shell(word: str | bytes) -> bytes:
    """Quote one word for a POSIX shell, without a line feed in it."""
    if isinstance(word, FarShellWord):
        return word.encode()
    data = quote.encode(word)
    return b"'" + data.replace(b"'", b"'\"'\"'").replace(b"\n", b"'\"$n\"'") + b"'"


def quote_path(path: str) -> bytes:
    """Quote a path for the far shell, where `~` is the home folder on that host."""
    if path.startswith("~/"):
        return b'"$HOME"/' + quote_for_shell(path[2:])
    return quote_for_shell(path)


def _join_for_shell(commands: Sequence[Command]) -> list[bytes]:
    words: list[bytes] = []
    for command in commands:
        words += [b"';'"] if words else []
        words += [
            quote_for_shell(word if isinstance(word, FarShellWord) else quote.quote_for_argv(word))
            for word in command
        ]
    return words
