"""Remember, between processes, a control client that was given up before tmux had let it in.

While tmux is stopped, such a client stays in tmux's queue, even after its process has ended. A second control
client in that queue crashes tmux 3.3a, with all its sessions, as soon as tmux continues. So a file says that
an attach was begun. A muxpilot that finds the file first sends tmux a command by an ordinary client, which
cannot crash it, and waits for the answer.
"""

from __future__ import annotations

import asyncio
import os
from contextlib import suppress

from muxpilot import file_lock
from muxpilot.tmux.connection import oneshot
from muxpilot.tmux.hosts.endpoint import Endpoint

# `1` for each hub whose client has gone: it is about to end, and tmux notifies its clients of that.
_ABANDONED_HUBS = "#{S:#{?#{m:muxpilot-hub-*,#{session_name}},#{?session_attached,,1},}}"
_POLL_S = 0.02
_HUBS_END_WITHIN_S = 2.0


class UnfinishedAttach:
    """The file of one tmux server on this host. On other hosts nothing is remembered."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._file = None if endpoint.is_remote else endpoint.unfinished_attach_file()

    async def wait_until_tmux_answers(self) -> None:
        """Wait for an answer of tmux, and for the end of the hub, if an attach was given up before."""
        if not self._is_noted():
            return
        self._endpoint.trace.info("a control client was given up: waiting until tmux answers another client")
        if not await self._has_abandoned_hub():
            return
        with suppress(TimeoutError):
            async with asyncio.timeout(_HUBS_END_WITHIN_S):
                while await self._has_abandoned_hub():  # noqa: ASYNC110 - only control clients are notified
                    await asyncio.sleep(_POLL_S)

    def begin(self) -> None:
        """Note that a control client is about to attach."""
        if self._file is not None:
            with suppress(OSError):
                os.close(file_lock.open_lock_file(self._file))

    def end(self) -> None:
        """Note that tmux has let the client in, or has refused it."""
        if self._file is not None:
            with suppress(OSError):
                os.unlink(self._file)

    def _is_noted(self) -> bool:
        return self._file is not None and os.path.lexists(self._file)

    async def _has_abandoned_hub(self) -> bool:
        reply = await oneshot.run(self._endpoint, (("display-message", "-p", _ABANDONED_HUBS),))
        return reply.error is None and bool(reply.first_line)
