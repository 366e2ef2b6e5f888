"""The jobs of all tmux servers that this muxpilot uses."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path

from muxpilot.errors import MuxpilotError
from muxpilot.jobs.job_log import JobLog
from muxpilot.jobs.job_records import Job
from muxpilot.jobs.server_jobs import JobKind, ServerJobs
from muxpilot.tasks import TaskSet
from muxpilot.timing import JobTiming
from muxpilot.tmux import Tmux
from muxpilot.trace import area

_trace = area("jobs")

_MOST_ENDED = 200
_KEPT_S = 4 * 3600.0


class JobRegistry:
    """Finds the jobs of a tmux server. `kinds` maps the name of a kind to what it does.

    `most` is how many ended jobs of a server are known, and `kept_s` how long.
    """

    def __init__(
        self, *, most: int = _MOST_ENDED, kept_s: float = _KEPT_S, timing: JobTiming | None = None
    ) -> None:
        self.kinds: dict[str, JobKind] = {}
        self.timing = timing or JobTiming()
        # Called when a server is used for the first time: its commands may need a muxpilot, too.
        self.on_open: Callable[[Tmux], Awaitable[None]] | None = None
        self.checks_owners = True  # a process for a single call takes over only what the call is about
        self._most = most
        self._kept_s = kept_s
        self._servers: dict[str, ServerJobs] = {}
        self._pids: dict[str, int | None] = {}  # of the servers, by socket
        self._noted: set[str] = set()
        self._opening: set[str] = set()
        self._tasks = TaskSet(_trace)
        self._is_closed = False

    def note_use(self, tmux: Tmux) -> None:
        """Look for jobs of a server in the background, as soon as a call has connected to it.

        A call that does not need the server connects to none.
        """
        if tmux.socket not in self._noted and self.checks_owners:
            self._noted.add(tmux.socket)
            tmux.connection.add_listener(lambda _: self._look(tmux))
        if tmux.connection.server_pid is not None:
            self._look(tmux)

    def _look(self, tmux: Tmux) -> None:
        """Open the jobs of the server that answers now in the background, unless they are open."""
        is_same = tmux.connection.server_pid in (None, self._pids.get(tmux.socket))
        is_open = tmux.socket in self._servers and is_same
        if self.checks_owners and not is_open and tmux.socket not in self._opening and not self._is_closed:
            self._opening.add(tmux.socket)
            self._tasks.start(self._open_in_background(tmux), name="look for jobs")

    async def of(self, tmux: Tmux) -> ServerJobs:
        """Return the jobs of the server that answers now, or raise NoServer."""
        identity = await tmux.streams.journals.server_identity()
        known = self._servers.get(tmux.socket)
        if known is not None and known.key == identity.key:
            known.check_folder()
            known.sync()
            return known
        if known is not None:
            _trace.debug("another tmux server has begun", server=tmux.socket)
            self._tasks.start(known.close(), name="close jobs")
        return await self._open(tmux, identity.key)

    def find(self, job_id: str, kind: str) -> tuple[ServerJobs, Job] | None:
        """Return a job of any server that was used before, or None."""
        for jobs in self._servers.values():
            jobs.sync()
            job = jobs.jobs.get(job_id)
            if job is not None and job.kind == kind:
                return jobs, job
        return None

    def all_of_kind(self, kind: str) -> Iterator[Job]:
        """Yield the jobs of one kind on all servers that were used before."""
        for jobs in self._servers.values():
            yield from (job for job in list(jobs.jobs.values()) if job.kind == kind)

    async def close(self) -> None:
        """Stop looking for jobs. The jobs of this muxpilot are left for others to take over."""
        self._is_closed = True
        await self._tasks.close()
        servers, self._servers = self._servers, {}
        for jobs in servers.values():
            await jobs.close()

    async def _open_in_background(self, tmux: Tmux) -> None:
        try:
            with suppress(MuxpilotError):  # no server runs yet: the next call looks again
                await self.of(tmux)
                if self.on_open is not None:
                    await self.on_open(tmux)
        finally:
            self._opening.discard(tmux.socket)

    async def _open(self, tmux: Tmux, key: str) -> ServerJobs:
        folder = await tmux.streams.journals.server_folder()
        known = self._servers.get(tmux.socket)
        if known is not None and known.key == key:
            return known  # another call has opened it meanwhile
        owners = tmux.streams.journals.journals.owners if folder is not None else None
        trace = _trace.child(server=tmux.socket)
        log = JobLog(folder, owners, trace, most=self._most, kept_s=self._kept_s)
        jobs = ServerJobs(tmux, log, self.kinds, key=key, timing=self.timing, trace=trace)
        jobs.checks_owners = self.checks_owners
        self._servers[tmux.socket] = jobs
        self._pids[tmux.socket] = tmux.connection.server_pid
        if folder is not None:
            self._watch_folder(jobs, folder)
        trace.debug("jobs opened", is_kept=folder is not None)
        jobs.sync()
        return jobs

    def _watch_folder(self, jobs: ServerJobs, folder: Path) -> None:
        def on_gone() -> None:
            """Make the folder once more, so that other muxpilots' jobs are noticed there."""
            jobs.stop_watching()
            if not self._is_closed:
                self._tasks.start(self._watch_again(jobs), name="look for jobs")

        watcher = jobs.tmux.streams.journals.journals.watcher
        jobs.folder, jobs.on_folder_gone = folder, on_gone
        jobs.stop_watching = watcher.watch(folder, jobs.on_folder_change)

    async def _watch_again(self, jobs: ServerJobs) -> None:
        with suppress(MuxpilotError):  # the server has ended
            if (await jobs.tmux.streams.journals.server_identity()).key != jobs.key:
                return
            folder = await jobs.tmux.streams.journals.server_folder()
            if folder is not None:
                self._watch_folder(jobs, folder)
                jobs.sync()
