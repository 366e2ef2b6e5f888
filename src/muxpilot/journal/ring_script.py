"""The program of a pane's pipe: a loop of /bin/sh and dd that writes the output into a ring of files.

Each file is a segment. Its name is the offset of its first byte and the number of newlines before it. When
there are more segments than allowed, the oldest is removed. The program needs sh, dd, wc and rm, no muxpilot,
and it never lets tmux wait: what cannot be written is read, counted and dropped.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from muxpilot.records import record

_BLOCK_BYTES = 4096
_LARGEST_SEGMENT = 1 << 20
# A cap below this is raised to it: at least four segments of four blocks.
_SMALLEST_CAP = 16 * _BLOCK_BYTES

# What the loop keeps, all in shell variables:
#   b, l   the offset of the segment's first byte, and the newlines before it
#   n, f   the bytes in the segment, and its name
#   p, d   the name before, and 1 after dd has failed
#   u      "-x" if an unknown number of bytes is missing before the next segment
#   "$@"   the names of all segments that are still there, the oldest first
#
# A read from the pipe is often shorter than a block, but dd counts it as one. So a dd ends early, and the
# next one continues the same segment. `0+0 records in` is the end of the pipe. If dd fails, the disk is full,
# or a quota is: the block that it had read is lost, and nothing says how long it was. Then the oldest segment
# goes. If that was the current one, one read is dropped and counted instead. A dd that was killed (status
# above 128) may have lost a block too. A segment without a byte keeps its name: a reader has it open.
_SCRIPT = """\
umask 077; LC_ALL=C; export LC_ALL; cd "$muxpilot_folder" || exit 1; echo $$ >pid
b=0 l=0 u= d=0 p=
while :; do
  f=$(printf %015d-%012d%s "$b" "$l" "$u"); n=0 u=; [ "$f" = "$p" ] || set -- "$@" "$f"; p=$f
  [ $# -le "$muxpilot_segments" ] || { rm -f "$1"; shift; }
  while [ "$n" -lt "$muxpilot_fill" ]; do
    c=$(((muxpilot_fill - n) / 4096 + 1)); [ "$c" -ge "$muxpilot_reads" ] || c=$muxpilot_reads
    r=$(dd bs=4096 count="$c" 2>&1 >>"$f"); s=$?
    case $r in "0+0 records in"*) : >end; exit;; esac
    [ -d "$muxpilot_folder" ] || exit 1
    o=$n; n=$(wc -c 2>/dev/null <"$f"); n=$((n))
    [ "$n" -ge "$o" ] || { n=$o u=-x; break; }
    [ "$s" -le 128 ] || { u=-x; break; }
    [ "$s" = 0 ] || { case $r in *"records in"*) u=-x;; esac; d=1; break; }
  done
  c=$(wc -l 2>/dev/null <"$f"); l=$((l + c)) b=$((b + n))
  [ "$n" != 0 ] || u=-x
  [ "$d" = 0 ] || { d=0
    if [ $# -gt 1 ]; then rm -f "$1"; shift
    else r=$(dd bs=4096 count=1 2>/dev/null | wc -lc)
      c=${r% *} r=${r##* }; [ "$r" != 0 ] || { : >end; exit; }
      l=$((l + c)) b=$((b + r))
    fi; }
done
"""


@record
class RingSize:
    """The sizes of a ring: how many segments it has, and when one of them counts as full.

    A segment is full at `fill` bytes. The last dd may add up to `reads` blocks more.
    """

    segments: int
    fill: int
    reads: int

    @classmethod
    def of_cap(cls, cap_bytes: int) -> RingSize:
        """Return the sizes that keep a ring below a number of bytes."""
        cap = max(cap_bytes, _SMALLEST_CAP)
        largest = min(_LARGEST_SEGMENT, cap // 4)
        reads = largest // _BLOCK_BYTES // 4
        return cls(cap // largest, largest - reads * _BLOCK_BYTES, reads)


def pipe_program(folder: Path | str, cap_bytes: int) -> str:
    """Return the line of sh that writes its input into the ring in `folder`."""
    size = RingSize.of_cap(cap_bytes)
    return (
        f"muxpilot_folder={shlex.quote(str(folder))} muxpilot_segments={size.segments} "
        f"muxpilot_fill={size.fill} muxpilot_reads={size.reads}\n{_SCRIPT}"
    )
