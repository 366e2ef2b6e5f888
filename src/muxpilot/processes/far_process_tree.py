"""End the process tree of panes that are on another host, or on a system without /proc: sh does it there.

The script needs sh and kill, and /proc or `ps`. Marks in environments are found with grep and tr, where those
exist. One `ps` lists all processes. The script runs the tmux command that ends the panes itself: that command
may end the tmux server, which then cannot be asked to run another script.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Sequence
from functools import cache

from muxpilot.processes.end_processes import EndedProcess
from muxpilot.processes.shared_services import MULTIPLEXERS, USER_AGENTS
from muxpilot.records import record

_ROW = re.compile(r"(TERM|KILL|left) (\d+)(?: (.*))?")
_FAILED = "failed "
_SIGNALS = {"TERM": "SIGTERM", "KILL": "SIGKILL"}

# If a pane is still there, nothing was killed, or another session shows it too. A last line protects the end
# of the others: tmux takes a semicolon at the end of an option's value for its own.
_KILL = """
if ! words=$({kill} 2>&1); then printf '%s\nend' "failed $words"; exit; fi
there=$nl$({tmux} list-panes -a -F '#{{pane_id}}' 2>/dev/null)$nl
for pane in $panes; do case $there in *"$nl$pane$nl"*) exit ;; esac; done
end_tree; printf '%s' "${{said}}end"
"""


@record
class FarPanes:
    """Panes by their ids, with the pids of their programs and the server that they are on."""

    ids: tuple[str, ...]
    programs: tuple[int, ...]
    server_pid: int
    socket: str

    def _variables(self, *, tree: Iterable[str] = (), has_marks: bool = True) -> str:
        values = {
            "panes": " ".join(self.ids) if has_marks else "",
            "roots": " ".join(map(str, self.programs)) if has_marks else "",
            "server": str(self.server_pid),
            "socket": self.socket,
            "tree": "".join(f" {process} " for process in tree),
            "terminals": f" {' '.join(map(str, self.programs))} ",  # each program leads its session
        }
        return "".join(f"{name}={shlex.quote(value)}\n" for name, value in values.items())

    def kill_script(self, tmux: str, kill: Sequence[str]) -> str:
        """Return the script that runs a tmux command and then ends the processes of these panes."""
        words = " ".join(shlex.quote(word) for word in (tmux, *kill))
        return f"{self._variables()}{_functions()}\nscan\n{_KILL.format(kill=words, tmux=shlex.quote(tmux))}"

    def scan_script(self) -> str:
        """Return the script that prints the processes of these panes, for `end_script`."""
        return f'{self._variables()}{_functions()}\nscan; echo "$tree"'

    def end_script(self, processes: Iterable[str]) -> str:
        """Return the script that ends processes and what they started. Marks do not count."""
        known = self._variables(tree=processes, has_marks=False)
        return f"{known}{_functions()}\nend_tree; printf '%s' \"${{said}}end\""


def parse_processes(lines: Iterable[str]) -> list[str]:
    """Return the processes that `scan_script` has printed."""
    return [word for line in lines for word in line.split() if re.fullmatch(r"\d+:\S+", word)]


def parse_failure(lines: Sequence[str]) -> str | None:
    """Return what tmux said if its command failed, or None."""
    return lines[0].removeprefix(_FAILED) if lines and lines[0].startswith(_FAILED) else None


def parse_ended(lines: Sequence[str]) -> list[EndedProcess]:
    """Return the processes that needed more than SIGHUP."""
    ended: dict[int, EndedProcess] = {}
    for line in lines:
        found = _ROW.fullmatch(line)
        if found is not None:
            pid = int(found[2])
            command = (found[3] or "").strip() or (ended[pid].command if pid in ended else "")
            ended[pid] = EndedProcess(pid, command, _SIGNALS.get(found[1]))
    return sorted(ended.values(), key=lambda row: row.pid)


@cache
def _functions() -> str:
    from importlib import resources  # a start does without

    text = (resources.files("muxpilot.processes") / "scripts" / "end_tree.sh").read_text(encoding="utf-8")
    names = "|".join(shlex.quote(name) for name in sorted(MULTIPLEXERS | USER_AGENTS))
    lines = text.replace("@SERVICES@", names).splitlines()
    return "\n".join(line for line in lines if not line.lstrip().startswith("#"))
