"""The page over HTTP: a few files and one stream of events. There is no route that takes anything in.

The token is the first part of every path, so that the page's own relative addresses carry it; nothing is
answered without it, no cookie is kept that other ports of this machine would get, and no log is written.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

from muxpilot.dispatch import incident
from muxpilot.view import themes
from muxpilot.view.model import Stage
from muxpilot.view.viewer import Viewer
from muxpilot.web.asgi import Receive, Refusal, Scope, Send, check_place, headers_of, refuse

MOST_VIEWERS = 8

_PAGE = Path(__file__).parent / "page"
_SCRIPT, _STYLE = "text/javascript; charset=utf-8", "text/css; charset=utf-8"
_FILES: Final[Mapping[str, tuple[str, str]]] = {
    "": ("index.html", "text/html; charset=utf-8"),
    "page.css": ("page.css", _STYLE),
    "icon.svg": ("icon.svg", "image/svg+xml"),
    "page.js": ("page.js", _SCRIPT),
    "pane.js": ("pane.js", _SCRIPT),
    "screen.js": ("screen.js", _SCRIPT),
    "themes.js": ("themes.js", _SCRIPT),
    "trail.js": ("trail.js", _SCRIPT),
    "xterm/xterm.mjs": ("xterm/xterm.mjs", _SCRIPT),
    "xterm/xterm.css": ("xterm/xterm.css", _STYLE),
}

# xterm.js paints by styles that it writes itself; scripts are files of ours, and no text ever becomes HTML.
_POLICY = "; ".join(
    (
        "default-src 'self'",
        "style-src 'self' 'unsafe-inline'",
        "object-src 'none'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        "require-trusted-types-for 'script'",
    )
)
_HEADERS: Final[Mapping[str, str]] = {
    "content-security-policy": _POLICY,
    "referrer-policy": "no-referrer",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "permissions-policy": "clipboard-read=(), clipboard-write=(), camera=(), microphone=(), geolocation=()",
    "cache-control": "no-store",
}


class Page:
    """An ASGI application; `stopped` ends the streams that are open."""

    def __init__(self, stage: Stage, token: str, stopped: asyncio.Event) -> None:
        self._stage = stage
        self._token = token.encode()
        self._stopped = stopped
        self._viewers = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            await self._serve(self._checked(scope), scope, receive, send)
        except Refusal as refusal:
            refusal.headers |= _HEADERS
            await refuse(send, refusal)
        except Exception:  # noqa: BLE001 - a mistake of ours must not end the server
            incident("The page")

    def _checked(self, scope: Scope) -> str:
        """The path behind the token."""
        check_place(headers_of(scope), is_local=True)
        _, _, path = scope["path"].partition("/")
        given, _, rest = path.partition("/")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self._token):
            raise Refusal(403, "Open the whole address that muxpilot view has printed.")
        if scope["method"] not in ("GET", "HEAD"):
            raise Refusal(405, "There is nothing to send here: this page only shows.", allow="GET, HEAD")
        return str(rest)

    async def _serve(self, path: str, scope: Scope, receive: Receive, send: Send) -> None:
        if path == "events" and scope["method"] == "GET":
            await self._events(scope, receive, send)
            return
        if path not in _FILES:
            raise Refusal(404, "There is nothing here.")
        name, kind = _FILES[path]
        body = themes.script() if name == "themes.js" else (_PAGE / name).read_bytes()
        await _start(send, {"content-type": kind, "content-length": str(len(body))})
        is_wanted = scope["method"] == "GET"
        await send({"type": "http.response.body", "body": body if is_wanted else b""})

    async def _events(self, scope: Scope, receive: Receive, send: Send) -> None:
        if self._viewers >= MOST_VIEWERS:
            raise Refusal(503, f"{MOST_VIEWERS} pages are open already. Close one.")
        turn = asyncio.Lock()

        async def tell(what: str, facts: Mapping[str, Any]) -> None:
            """Waits while the page does not read: whatever is told next is then newer."""
            data = f"event: {what}\ndata: {json.dumps(facts, separators=(',', ':'))}\n\n".encode()
            async with turn:
                await send({"type": "http.response.body", "body": data, "more_body": True})

        self._viewers += 1
        try:
            await _start(send, {"content-type": "text/event-stream"})
            query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            [wanted, *_] = query.get("pane", [None])
            viewer = Viewer(self._stage, tell, shows_all="all" in query, wanted=wanted)
            await _first_of(viewer.run(), _gone(receive), self._stopped.wait())
        finally:
            self._viewers -= 1


async def _start(send: Send, headers: Mapping[str, str]) -> None:
    pairs = [(name.encode(), value.encode()) for name, value in {**_HEADERS, **headers}.items()]
    await send({"type": "http.response.start", "status": 200, "headers": pairs})


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _first_of(*works: Any) -> None:
    """Until one of them has ended; the others end with it."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
