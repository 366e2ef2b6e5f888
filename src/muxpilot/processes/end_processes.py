"""End a process tree: wait for SIGHUP to work, then send SIGTERM, then SIGKILL to what is left.

tmux closes the terminal of a pane, and the kernel sends SIGHUP to the pane's program and to the foreground.
That does not reach processes that ignore it or left the terminal. All of it takes less than two seconds.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from contextlib import suppress

from muxpilot.processes.identity import ProcessIdentity
from muxpilot.processes.proc import PROC, find_stat
from muxpilot.processes.process_tree import ProcessTree
from muxpilot.records import record
from muxpilot.timing import ProcessEndTiming
from muxpilot.trace import area

_trace = area("processes")
_LONGEST_COMMAND = 200
_MOST_TOLD = 100  # a program may start processes without end


@record
class EndedProcess:
    """A process that needed more than SIGHUP. `signal` is None if it still runs: we may not end it."""

    pid: int
    command: str
    signal: str | None


def end_tree(tree: ProcessTree, timing: ProcessEndTiming | None = None) -> list[EndedProcess]:
    """End all processes of a tree whose terminal is closed. Return those that needed more than that.

    It blocks on purpose: neither a caller that stops waiting nor an event loop that ends can interrupt it.
    """
    times = timing or ProcessEndTiming()
    began = time.monotonic()
    ended: dict[ProcessIdentity, EndedProcess] = {}
    _wait_for_hangup(tree, times, began)
    if _signal_all(tree, signal.SIGTERM, ended):
        _wait_until(lambda: not _find_reacting(tree, signal.SIGTERM), times.terminate_s, times)
        while left := _signal_all(tree, signal.SIGKILL, ended):
            _wait_until(lambda: not tree.list_running(), 5 * times.pause_s, times)
            is_refused = all(ended[each].signal is None for each in left)
            if is_refused or time.monotonic() - began > times.all_s:
                break
    return _describe_all(tree, ended)


def _wait_for_hangup(tree: ProcessTree, times: ProcessEndTiming, began: float) -> None:
    """Wait while a process may still end because of SIGHUP."""

    def is_settled() -> bool:
        """Return whether no process is left that may still end."""
        left = tree.list_running()
        if not left or time.monotonic() - began < times.settle_s:
            return not left
        return not any(tree.gets_hangup(each) and not _ignores(each, signal.SIGHUP) for each in left)

    _wait_until(is_settled, times.hangup_s, times)


def _find_reacting(tree: ProcessTree, number: signal.Signals) -> list[ProcessIdentity]:
    """Return the processes that still run and do not ignore a signal."""
    return [each for each in tree.list_running() if not _ignores(each, number)]


def _signal_all(
    tree: ProcessTree, number: signal.Signals, ended: dict[ProcessIdentity, EndedProcess]
) -> list[ProcessIdentity]:
    """Send a signal to all processes of the tree, also to those that were started meanwhile. Return them."""
    found = sorted(tree.read(), key=lambda each: each.pid)
    for process in found:
        before = ended.get(process)
        command = before.command if before is not None else _read_command(process.pid)
        is_sent = _send(process, number)
        ended[process] = EndedProcess(process.pid, command, number.name if is_sent else None)
    if found:
        _trace.debug("processes signalled", signal=number.name, count=len(found))
    return found


def _send(process: ProcessIdentity, number: signal.Signals) -> bool:
    """Send a signal to this very process. Return False if it is not ours to end."""
    try:
        descriptor = os.pidfd_open(process.pid)
    except (OSError, AttributeError):  # it has ended, or the kernel is older than 5.3
        return _send_by_pid(process, number)
    try:
        # The descriptor is of the process that has the pid now, so it is looked at after the opening.
        if process.is_running:
            signal.pidfd_send_signal(descriptor, number)
            if _is_stopped(process):
                signal.pidfd_send_signal(descriptor, signal.SIGCONT)  # else SIGTERM would wait
    except ProcessLookupError:
        pass
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return True


def _send_by_pid(process: ProcessIdentity, number: signal.Signals) -> bool:
    if not process.is_running:
        return True
    try:
        os.kill(process.pid, number)
    except ProcessLookupError:
        pass
    except OSError:
        return False
    return True


def _is_stopped(process: ProcessIdentity) -> bool:
    stat = find_stat(PROC, process.pid)
    return stat is not None and stat.is_stopped


def _ignores(process: ProcessIdentity, number: signal.Signals) -> bool:
    with suppress(OSError):
        return bool(PROC.ignored_signals(process.pid) >> (number - 1) & 1)
    return False


def _wait_until(is_done: Callable[[], bool], limit_s: float, times: ProcessEndTiming) -> None:
    give_up = time.monotonic() + limit_s
    while not is_done() and time.monotonic() < give_up:
        time.sleep(times.pause_s)


def _read_command(pid: int) -> str:
    """Return the command line of a process, or its name where it has none."""
    with suppress(OSError):
        words = " ".join(PROC.argv(pid)).strip()
        if words:
            return words[:_LONGEST_COMMAND]
    stat = find_stat(PROC, pid)
    return stat.name if stat is not None else ""


def _describe_all(tree: ProcessTree, ended: dict[ProcessIdentity, EndedProcess]) -> list[EndedProcess]:
    """Return what was ended; what still runs has no signal that ended it."""
    left = tree.list_running()
    if left:
        _trace.warning("processes did not end", processes=len(left))
    rows = [
        EndedProcess(row.pid, row.command, None) if process in left else row for process, row in ended.items()
    ]
    return sorted(rows, key=lambda row: row.pid)[:_MOST_TOLD]
