"""Serve the page over HTTP: a few files, one stream of events, and below `/ask/` the answers of people.

The token is the first part of every other path, so that the relative addresses in the page contain it.
Requests without it get no data. A cookie alone gives no right: browsers send it to all ports of this machine.
"""

from __future__ import annotations

import asyncio
import hmac
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs

from muxpilot.calls import report_incident
from muxpilot.trace import area
from muxpilot.view import themes
from muxpilot.view.answer_routes import FILES, ROOT, AnswerRoutes
from muxpilot.view.model import ViewModel
from muxpilot.view.viewer import Viewer
from muxpilot.web.asgi import (
    AsgiScope,
    HttpRefusal,
    Receive,
    Send,
    check_host_and_origin,
    collect_headers,
    send_refusal,
)

MOST_VIEWERS = 8

trace = area("view")

_PAGE = Path(__file__).parent / "page"
_SCRIPT, _STYLE = "text/javascript; charset=utf-8", "text/css; charset=utf-8"
_HTML = "text/html; charset=utf-8"
_FILES: Final[Mapping[str, tuple[str, str]]] = {
    "": ("index.html", _HTML),
    "ask.html": ("ask.html", _HTML),
    "ask.js": ("ask.js", _SCRIPT),
    "questions.js": ("questions.js", _SCRIPT),
    "page.css": ("page.css", _STYLE),
    "icon.svg": ("icon.svg", "image/svg+xml"),
    "page.js": ("page.js", _SCRIPT),
    "pane.js": ("pane.js", _SCRIPT),
    "screen.js": ("screen.js", _SCRIPT),
    "themes.js": ("themes.js", _SCRIPT),
    "audit.js": ("audit.js", _SCRIPT),
    "xterm/xterm.mjs": ("xterm/xterm.mjs", _SCRIPT),
    "xterm/xterm.css": ("xterm/xterm.css", _STYLE),
}

# All scripts are our files, and no text is ever parsed as HTML.
_RULES = (
    "object-src 'none'",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
)
# xterm.js writes its own inline styles. The page for answers has no terminals.
_POLICY = "; ".join(("default-src 'self'", "style-src 'self' 'unsafe-inline'", *_RULES))
_ANSWER_POLICY = "; ".join(("default-src 'self'", *_RULES))
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


class ViewApp:
    """The ASGI application of the page; `stopped` ends the open streams."""

    def __init__(self, model: ViewModel, token: str, stopped: asyncio.Event, answers: AnswerRoutes) -> None:
        self._answers = answers
        self._model = model
        self._token = token.encode()
        self._stopped = stopped
        self._viewers = 0

    async def __call__(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return
        try:
            await self._route(scope, receive, send)
        except HttpRefusal as refusal:
            refusal.headers |= _headers_for(scope)
            await send_refusal(send, refusal)
        except Exception:  # noqa: BLE001 - an internal error must not end the server
            report_incident("The page")

    async def _route(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        _, _, path = scope["path"].partition("/")
        root, _, rest = path.partition("/")
        if root != ROOT:
            await self._serve(self._check_request(scope), scope, receive, send)
            return
        self._answers.check_host(collect_headers(scope))
        name = rest or "ask.html"
        if scope["method"] in ("GET", "HEAD") and name in FILES:
            await self._serve(name, scope, receive, send)
            return
        facts, headers = await self._answers.answer(rest, scope, receive)
        body = json.dumps(facts, separators=(",", ":")).encode()
        await _start_response(scope, send, {"content-type": "application/json", **headers})
        await send({"type": "http.response.body", "body": body})

    def _check_request(self, scope: AsgiScope) -> str:
        """Raise `HttpRefusal` unless the request may be served; return the path after the token."""
        check_host_and_origin(collect_headers(scope), is_local=True)
        _, _, path = scope["path"].partition("/")
        given, _, rest = path.partition("/")
        if not hmac.compare_digest(given.encode("utf-8", "replace"), self._token):
            raise HttpRefusal(403, "Open the complete address that muxpilot view has printed.")
        if scope["method"] not in ("GET", "HEAD"):
            raise HttpRefusal(405, "This page accepts no data.", allow="GET, HEAD")
        return str(rest)

    async def _serve(self, path: str, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if path == "events" and scope["method"] == "GET":
            await self._stream_events(scope, receive, send)
            return
        if path not in _FILES:
            raise HttpRefusal(404, "There is nothing here.")
        name, kind = _FILES[path]
        body = themes.themes_module() if name == "themes.js" else (_PAGE / name).read_bytes()
        await _start_response(scope, send, {"content-type": kind, "content-length": str(len(body))})
        is_wanted = scope["method"] == "GET"
        await send({"type": "http.response.body", "body": body if is_wanted else b""})

    async def _stream_events(self, scope: AsgiScope, receive: Receive, send: Send) -> None:
        if self._viewers >= MOST_VIEWERS:
            raise HttpRefusal(503, f"{MOST_VIEWERS} pages are open already. Close one.")
        lock = asyncio.Lock()

        async def send_event(name: str, facts: Mapping[str, Any]) -> None:
            """Send an event; wait while the page does not read, so that the next event is up to date."""
            data = f"event: {name}\ndata: {json.dumps(facts, separators=(',', ':'))}\n\n".encode()
            async with lock:
                await send({"type": "http.response.body", "body": data, "more_body": True})

        self._viewers += 1
        trace.info("page opened", pages=self._viewers)
        try:
            await _start_response(scope, send, {"content-type": "text/event-stream"})
            query = parse_qs(scope["query_string"].decode("latin-1"), keep_blank_values=True)
            [wanted, *_] = query.get("pane", [None])
            viewer = Viewer(self._model, send_event, shows_all="all" in query, wanted=wanted)
            await _run_until_first_ends(viewer.run(), _wait_for_disconnect(receive), self._stopped.wait())
        finally:
            self._viewers -= 1
            trace.info("page closed", pages=self._viewers)


def _headers_for(scope: AsgiScope) -> Mapping[str, str]:
    """Return the headers of every response. The rules for the page that takes answers are stricter."""
    is_answer = scope["path"].startswith(f"/{ROOT}/")
    return {**_HEADERS, "content-security-policy": _ANSWER_POLICY} if is_answer else _HEADERS


async def _start_response(scope: AsgiScope, send: Send, headers: Mapping[str, str]) -> None:
    pairs = [(name.encode(), value.encode()) for name, value in {**_headers_for(scope), **headers}.items()]
    await send({"type": "http.response.start", "status": 200, "headers": pairs})


async def _wait_for_disconnect(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass


async def _run_until_first_ends(*works: Any) -> None:
    """Wait until one of them ends, then cancel the others."""
    tasks = [asyncio.ensure_future(work) for work in works]
    try:
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        for task in done:
            task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
