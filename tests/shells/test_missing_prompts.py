"""A status whose prompt does not come: when muxpilot stops waiting for the prompt."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from types import SimpleNamespace
from typing import Any

from muxpilot.shell_table import SHELLS
from muxpilot.shells.nested_shell import NestedShell
from muxpilot.shells.osc133 import MarkOrder, MarkScanner
from muxpilot.shells.output_reader import ShellOutputReader
from muxpilot.shells.shell_phases import Phase
from muxpilot.shells.shell_stack import ShellStack
from muxpilot.timing import ShellTiming
from muxpilot.tmux import Data
from muxpilot.trace import area

_NONCE = "0123456789abcdef"
_AT_ONCE, _LATE = ShellTiming(prompt_after_status_s=0.0), ShellTiming(prompt_after_status_s=60.0)


def _status(serial: int) -> bytes:
    return f"\x1b]133;D;0;{serial}.7;{_NONCE}\x07".encode()


async def test_the_wait_for_an_earlier_prompt_does_not_end_a_later_one() -> None:
    scanner, trace, checks, done = MarkScanner(), area("shells"), [], asyncio.Event()
    scanner.nonces.add(_NONCE)
    stack = ShellStack(scanner)
    shell = NestedShell(_NONCE, SHELLS["bash"], MarkOrder(7, 1), trace, depth=0)
    shell.phase = Phase.RUNNING
    stack.shells.append(shell)

    async def check() -> None:
        checks.append(shell.order.serial)

    activity = SimpleNamespace(end_reason=None, read_offset=0, restart_silence=lambda: None)
    pane: Any = SimpleNamespace(
        stack=stack,
        scanner=scanner,
        trace=trace,
        activity=activity,
        timing=_AT_ONCE,
        reading=asyncio.Lock(),
        notify=lambda: None,
        wait_until_shell_reads=check,
        sync_with_tmux=check,
    )

    async def follow(begin: int) -> AsyncIterator[Data]:
        yield Data(begin, _status(2))
        pane.timing = _LATE
        yield Data(begin + len(_status(2)), _status(3))
        for _ in range(10):
            await asyncio.sleep(0)
        done.set()

    async def ignore_end(_: object) -> None:
        pass

    reader = ShellOutputReader(pane, before_data=lambda: None, on_end=ignore_end, on_failure=lambda: None)
    stream: Any = SimpleNamespace(follow=follow)
    reader.start(stream, 0)
    await asyncio.wait_for(done.wait(), 10)
    await reader.close()
    assert (shell.order.serial, shell.phase, checks) == (3, Phase.FINISHED, [])
