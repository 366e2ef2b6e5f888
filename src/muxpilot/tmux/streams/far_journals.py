"""The journals of panes on another host: the same files as here, in a private folder of that host.

tmux there runs the pipe's program, and the line of sh that makes the folder. A script on a connection of its
own reads the files: it first waits until the pipe's program has written everything. The layout is
`ROOT/far/1/SERVER/PANE/GENERATION/`; a server is known by its process and its start.
"""

from __future__ import annotations

import re
import secrets
import shlex
from collections.abc import Iterator, Mapping

from muxpilot.errors import MuxpilotError
from muxpilot.journal.journals import Journals
from muxpilot.records import record
from muxpilot.tmux.connection import oneshot
from muxpilot.tmux.connection.connection import Connection
from muxpilot.tmux.hosts.far import FarEndpoint
from muxpilot.tmux.ids import PaneId
from muxpilot.trace import Trace

_PATH = re.compile(r"/[^\x00-\x1f\x7f]*/far/1/[0-9]+-[0-9]+/[0-9]+/([0-9]{4,9}-[0-9a-f]{6})")
_NAME = re.compile("[0-9]{4,9}-[0-9a-f]{6}")
_HEADER = re.compile(rb"muxpilot ([0-9]{1,18}) ([0-9]{1,18}) ([01]) ([0-9]{1,18}|-)")
_STATES = {b"muxpilot written": True, b"muxpilot ended": False}
# So much of a journal is read when a muxpilot begins to follow it.
_RECENT_BYTES = 1 << 20
_READ_LIMIT_S = 30.0

# Sets `r` to the first folder that only this user can enter, or that can be made so.
_FIND_ROOT = """\
umask 077; r= u=; ! command -v ls >/dev/null || u=$(id -u 2>/dev/null)
[ -z "$u" ] || for c in "$XDG_RUNTIME_DIR" "${XDG_STATE_HOME:-$HOME/.local/state}" /tmp; do
  case $c in (/tmp) c=/tmp/muxpilot-$u;; (/*) [ -d "$c" ] || [ "$c" != "$XDG_RUNTIME_DIR" ] || continue
    c=$c/muxpilot;; (*) continue;; esac
  mkdir -p "$c" 2>/dev/null && [ ! -L "$c" ] && set -- $(ls -ldn "$c") || continue
  [ "$3" = "$u" ] || continue
  case $1 in (drwx------|drwx------[.@]) r=$c; break;; esac
done
"""

# A generation whose program has ended goes after some hours. `kill -0` fails for a program that has ended.
_CREATE = """\
for t in dd wc rm mkdir tail; do command -v $t >/dev/null || exit; done
[ -n "$r" ] || exit
for g in "$r"/far/1/*/*/*-*; do
  p=; [ ! -r "$g/pid" ] || read -r p <"$g/pid"; [ -n "$p" ] && kill -0 "$p" 2>/dev/null && continue
  [ -z "$(find "$g" -prune -mmin "+$muxpilot_minutes" 2>/dev/null)" ] || rm -rf "$g"
done
d=$r/far/1/$muxpilot_pane; mkdir -p "$d" || exit
k=0; for g in "$d"/[0-9]*-*; do [ ! -d "$g" ] || { k=${g##*/}; k=${k%%-*}; k=${k#"${k%%[!0]*}"}; }; done
d=$d/$(printf %04d $((${k:-0} + 1)))-$muxpilot_token
mkdir -m 700 "$d" && echo "$muxpilot_program" >"$d/program" && echo "$d"
"""

_FIND = """\
f=; [ -z "$r" ] || for g in "$r/far/1/$muxpilot_pane"/$muxpilot_name; do [ ! -d "$g" ] || f=$g; done
[ -n "$f" ] || exit
echo "$f"; p=; read -r p <"$f/program"; echo "$p"
p=; [ ! -r "$f/pid" ] || read -r p <"$f/pid"
[ -e "$f/end" ] || { [ -n "$p" ] && ! kill -0 "$p" 2>/dev/null; } || echo written
"""

# First it waits until dd has written everything: while the pipe's program and its children sleep, dd waits
# for output. Where there is no /proc, a silence must do. Then it prints each segment after a line that tells
# its offset, the newlines before it, whether a loss of unknown size is before it, and its length. The last
# segment may grow meanwhile: it has no length.
_READ = """\
cd "$muxpilot_folder" 2>/dev/null || exit 0
q() { s=$(cat "/proc/$1/stat" 2>/dev/null) || return 0; case ${s##*) } in (S*) ;; (*) return 1;; esac
  for c in $(cat "/proc/$1/task/$1/children" 2>/dev/null); do q "$c" || return 1; done; }
z() { v=${1#"${1%%[!0]*}"}; v=${v:-0}; }
i=0 a=- b= p=; [ ! -r pid ] || read -r p <pid
e=written; [ ! -e end ] || e=ended; [ -z "$p" ] || kill -0 "$p" 2>/dev/null || e=ended; echo "muxpilot $e"
while [ "$a" != "$b" ] && [ $i -lt 40 ]; do
  a=$b i=$((i + 1)); for f in [0-9]*-*; do :; done
  [ -e "$f" ] || exit 0
  b="$f $(wc -c 2>/dev/null <"$f")"; q "${p:-0}" || a=-
  [ "$a" = "$b" ] || sleep 0.05 2>/dev/null || sleep 1
done
m=$muxpilot_start; z "${f%%-*}"; [ "$m" -ge 0 ] || m=$((v + ${b##* } + 0 - muxpilot_recent))
set -- [0-9]*-*
while [ $# -gt 0 ]; do
  f=$1; shift; z "${1%%-*}"; [ $# = 0 ] || [ "$v" -gt "$m" ] || continue
  z "${f%%-*}"; o=$v; l=${f#*-}; x=0; case $l in (*-x) x=1 l=${l%-x};; esac; z "$l"; l=$v
  [ -e "$f" ] || continue
  { s=$(wc -c 2>/dev/null <"$f") || continue
    k=$((m - o)); [ "$k" -le $((s)) ] || k=$((s))
    if [ "$k" -gt 0 ]; then x=0; c=$(dd bs="$k" count=1 2>/dev/null <"$f" | wc -l); l=$((l + c)); else k=0; fi
    s=$((s - k)); [ $# -gt 0 ] || s=-
    echo "muxpilot $((o + k)) $l $x $s"; tail -c +$((k + 1)) <&3; } 3<"$f"
done
"""


@record
class FarJournal:
    """One generation on another host. `program` is the process id of the pane's program when it began."""

    name: str
    path: str
    program: int
    is_written: bool


@record
class FarPiece:
    """Bytes of a far journal: the offset of the first, and the newlines before it.

    `follows_unknown_loss`: some bytes before it could not be written, and nothing says how many.
    """

    offset: int
    newlines: int
    data: bytes
    follows_unknown_loss: bool


@record
class FarReading:
    """What was read from a far journal. `is_written`: its program still ran."""

    pieces: list[FarPiece]
    is_written: bool


class FarJournalGone(Exception):
    """The folder of a journal, or what is in it, cannot be read."""


class FarJournals:
    """The journals of one server on another host. There are none if `journals` is None."""

    def __init__(self, connection: Connection, journals: Journals | None, trace: Trace) -> None:
        self._connection = connection
        self._journals = journals
        self._trace = trace

    @property
    def are_kept(self) -> bool:
        """Return whether journals are kept for the panes of this server."""
        return self._journals is not None and self._connection.endpoint.is_remote

    @property
    def journals(self) -> Journals:
        assert self._journals is not None
        return self._journals

    async def create(self, pane: PaneId, program: int) -> FarJournal | None:
        """Create a generation for a pane with this program. Return None where no journal can be kept."""
        minutes = max(1, int(self.journals.limits.kept_s // 60))
        token = secrets.token_hex(3)
        try:
            path, *_ = await self._ask(pane, _CREATE, minutes=minutes, token=token, program=program) or [""]
        except MuxpilotError as error:
            self._trace.warning("no journal can be kept", pane=pane, error=error)
            return None
        found = _PATH.fullmatch(path)
        self._trace.debug("far journal created", pane=pane, journal=found[1] if found else None)
        return FarJournal(found[1], found[0], program, is_written=True) if found is not None else None

    async def find(self, pane: PaneId, name: str = "") -> FarJournal | None:
        """Return a generation by a name that tmux, or a record, has told; the last one without a name."""
        if name and not _NAME.fullmatch(name):
            return None
        lines = await self._ask(pane, _FIND, name=name or "*-*")
        found = _PATH.fullmatch(lines[0]) if len(lines) > 1 and lines[1].isdecimal() else None
        self._trace.debug("far journal looked for", pane=pane, journal=name, found=found is not None)
        if found is None:
            return None
        return FarJournal(found[1], found[0], int(lines[1]), is_written=lines[2:] == ["written"])

    async def _ask(self, pane: PaneId, script: str, **values: object) -> list[str]:
        pid, started = await self._connection.server_process()
        values["pane"] = f"{pid}-{started}/{pane.removeprefix('%')}"
        return await self._connection.run_shell_line(_FIND_ROOT + _with_values(script, values))

    async def read(self, journal: FarJournal, start: int | None = None) -> FarReading:
        """Return what a journal holds from an offset on, or its newest bytes without one.

        Raise FarJournalGone if it cannot be read.
        """
        script = reading_script(journal.path, start=-1 if start is None else start)
        endpoint = self._connection.endpoint
        assert isinstance(endpoint, FarEndpoint)
        async with self._connection.deadline(_READ_LIMIT_S):
            out = await oneshot.run_far_script(endpoint, script)
        self._trace.debug("far journal read", journal=journal.name, start=start, bytes=len(out))
        return parse_reading(out)


def _with_values(script: str, values: Mapping[str, object]) -> str:
    """Return a script after the assignments of its variables."""
    given = "".join(f"muxpilot_{name}={shlex.quote(str(value))}\n" for name, value in values.items())
    return given + script


def reading_script(path: str, *, start: int, recent: int = _RECENT_BYTES) -> str:
    """Return the script that prints a journal from an offset on, or its `recent` bytes with a start of -1."""
    return _with_values(_READ, {"folder": path, "start": start, "recent": recent})


def parse_reading(out: bytes) -> FarReading:
    """Return what the reading script has printed. Raise FarJournalGone if it has not found the journal."""
    state, _, rest = out.partition(b"\n")
    if state not in _STATES:
        raise FarJournalGone("the pane's journal on the other host is gone")
    return FarReading(list(_parse_pieces(rest)), _STATES[state])


def _parse_pieces(out: bytes) -> Iterator[FarPiece]:
    while out:
        line, _, out = out.partition(b"\n")
        found = _HEADER.fullmatch(line)
        if found is None:
            raise FarJournalGone("the pane's journal on the other host cannot be read")
        size = len(out) if found[4] == b"-" else int(found[4])
        yield FarPiece(int(found[1]), int(found[2]), out[:size], found[3] == b"1")
        out = out[size:]
