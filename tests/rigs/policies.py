"""A tmux with a few sessions, and applications that reach it under a policy."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from muxpilot.app import App, build
from muxpilot.config.flags import load_settings
from muxpilot.tmux.models import NOT_HUB_FILTER
from tests.rigs.mcp_client import clean_environment
from tests.rigs.waiting import LIMIT_S, end_server

TMUX = shutil.which("tmux") or "tmux"


@dataclass(frozen=True)
class PolicyPlace:
    """A tmux with the sessions `dev` (two panes in a window, one in another) and `other`."""

    folder: Path
    socket: str
    panes: dict[str, str]

    @property
    def canary(self) -> Path:
        return self.folder / "canary"

    def raw(self, *args: str) -> str:
        argv = [TMUX, "-u", "-S", self.socket, "-f", "/dev/null", *args]
        done = subprocess.run(
            argv, capture_output=True, text=True, timeout=LIMIT_S, env=clean_environment(self.folder)
        )
        return done.stdout.rstrip("\n")

    def ids(self, what: str) -> set[str]:
        return set(self.rows("list-panes", f"#{{{what}}}").split())

    def rows(self, command: str, fields: str) -> str:
        """Return rows of everything but muxpilot's own connections, which take a moment to end."""
        return self.raw(command, "-a", "-F", fields, "-f", NOT_HUB_FILTER)


@contextmanager
def place_with_sessions() -> Iterator[PolicyPlace]:
    folder = Path(tempfile.mkdtemp(prefix="mx", dir="/tmp"))
    (folder / "home").mkdir()
    place = PolicyPlace(folder, str(folder / "s"), {})
    show = ("-P", "-F", "#{pane_id}")
    place.panes["one"] = place.raw(
        "new-session", "-d", *show, "-s", "dev", "-n", "first", "-x", "80", "-y", "24"
    )
    place.panes["two"] = place.raw("split-window", "-d", *show, "-t", "dev:first")
    place.panes["three"] = place.raw("new-window", "-d", *show, "-t", "dev", "-n", "second")
    place.panes["far"] = place.raw(
        "new-session", "-d", *show, "-s", "other", "-n", "only", "-x", "80", "-y", "24"
    )
    yield place
    end_server(TMUX, place.socket)
    shutil.rmtree(folder, ignore_errors=True)


@dataclass(frozen=True)
class AppUnderPolicy:
    """An application with a policy."""

    app: App

    async def call(self, name: str, /, **arguments: Any) -> Any:
        answer = await self.app.dispatch.call(name, arguments)
        assert not answer.is_error, f"{name}: {answer.text}"
        return answer.structured if answer.structured is not None else answer.text

    async def check_denied(self, key: str, name: str, /, **arguments: Any) -> str:
        answer = await self.app.dispatch.call(name, arguments)
        assert answer.error == "denied", answer.text
        assert answer.text.startswith(f"{name} is denied by {key}: ")
        assert answer.text.splitlines() == [answer.text]
        return answer.text


Policy = Callable[..., Any]


def policies(place: PolicyPlace, tmp_path: Path) -> Policy:
    @asynccontextmanager
    async def open_app(toml: str, **environment: str) -> AsyncIterator[AppUnderPolicy]:
        path = tmp_path / "config.toml"
        path.write_text(toml.replace("SOCKET", place.socket))
        app = build(load_settings(environment, scope="all", socket=place.socket, config=str(path)))
        try:
            yield AppUnderPolicy(app)
        finally:
            await app.close()

    return open_app
