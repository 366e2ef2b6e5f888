"""The part of the page that takes answers, at `/ask/`: files, the code, the open questions, and the answers.

Its address holds no token, because a client may show it to its model. Without the code it shows nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from http.cookies import CookieError, SimpleCookie
from typing import Any

from muxpilot.people.answering_process import runs_in_agent_pane
from muxpilot.people.other_processes import Answerer
from muxpilot.processes.connection_owner import find_connection_owners
from muxpilot.trace import area
from muxpilot.view.answer_gate import AnswerGate, BrowserPass
from muxpilot.view.model import ViewModel
from muxpilot.view.questions import WAY, list_questions, question_to_json, settle_question
from muxpilot.web.asgi import AsgiScope, HttpRefusal, Receive, collect_headers

ROOT = "ask"
# The files of this part, by their names in `http_app.FILES`.
FILES = frozenset({"ask.html", "page.css", "icon.svg", "ask.js", "questions.js"})
KEY_HEADER = b"x-muxpilot-key"
_LONGEST_BODY = 1 << 14
_NOT_UNLOCKED = "Enter the code of the terminal first."
_AGENTS_PROGRAM = "A program in an agent's pane cannot answer."

_trace = area("view")

Reply = tuple[Mapping[str, Any], Mapping[str, str]]


class AnswerRoutes:
    """Requests for and with data. Checked are Host, Origin, cookie, key, and the process that sends it."""

    def __init__(self, model: ViewModel, gate: AnswerGate, port: int) -> None:
        self._model = model
        self._gate = gate
        self._port = port
        self._hosts = {f"{host}:{port}".encode() for host in ("127.0.0.1", "localhost")}
        self._cookie_name = f"muxpilot-view-{port}"

    def check_host(self, headers: Mapping[bytes, bytes]) -> None:
        """Refuse requests for another host or port, and requests of pages that are not ours."""
        host = headers.get(b"host", b"")
        if host not in self._hosts:
            raise HttpRefusal(421, "This Host is not served. Use the address that muxpilot view has printed.")
        origin = headers.get(b"origin")
        if origin is not None and origin != b"http://" + host:
            raise HttpRefusal(403, "Pages of this Origin are not served.")
        if headers.get(b"sec-fetch-site", b"none") not in (b"none", b"same-origin"):
            raise HttpRefusal(403, "Pages of other sites are not served.")

    async def answer(self, path: str, scope: AsgiScope, receive: Receive) -> Reply:
        """Return the data of a response, and its headers. Raise HttpRefusal for what is not allowed."""
        headers = collect_headers(scope)
        if scope["method"] == "GET":
            if path != "open":
                raise HttpRefusal(404, "There is nothing here.")
            self._check_pass(headers)
            found = await list_questions(self._model)
            return {"questions": [question_to_json(row) for row in found]}, {}
        if scope["method"] != "POST" or path not in ("code", "answer"):
            raise HttpRefusal(405, "This page does not take that.", allow="GET, HEAD, POST")
        if b"origin" not in headers or headers.get(b"content-type") != b"application/json":
            raise HttpRefusal(403, "Only the page itself can send this.")
        given = await _read_body(receive)
        processes = await self._find_processes(scope)
        if path == "code":
            return self._unlock(given)
        by = Answerer(WAY, _describe_browser(self._check_pass(headers), scope), processes)
        return {"problem": await settle_question(self._model, given, by)}, {}

    def _unlock(self, given: Mapping[str, Any]) -> Reply:
        made = self._gate.unlock(str(given.get("code", "")))
        if isinstance(made, str):
            return {"problem": made}, {}
        cookie = f"{self._cookie_name}={made.cookie}; Path=/{ROOT}/; HttpOnly; SameSite=Strict"
        return {"problem": "", "key": made.key}, {"set-cookie": cookie}

    def _check_pass(self, headers: Mapping[bytes, bytes]) -> BrowserPass:
        cookie = _find_cookie(headers.get(b"cookie", b""), self._cookie_name)
        found = self._gate.find_browser(cookie, headers.get(KEY_HEADER, b"").decode("latin-1"))
        if found is None:
            raise HttpRefusal(403, _NOT_UNLOCKED)
        return found

    async def _find_processes(self, scope: AsgiScope) -> tuple[int, ...]:
        """Return the processes that send a request, as far as the system tells. Refuse those of agents."""
        client = scope.get("client")
        owners = find_connection_owners(client[1], self._port) if client else []
        if owners is None:
            raise HttpRefusal(403, "The program that sent this has closed its connection.")
        for pid in owners:
            for tmux in self._model.list_local_servers():
                if await runs_in_agent_pane(tmux, pid):
                    _trace.warning("request of an agent's program refused", pid=pid)
                    raise HttpRefusal(403, _AGENTS_PROGRAM)
        return tuple(owners)


def _describe_browser(browser: BrowserPass, scope: AsgiScope) -> str:
    """Return which browser of this page sends a request, and from which address."""
    client = scope.get("client")
    return f"browser {browser.number} of the view page" + (f" at {client[0]}:{client[1]}" if client else "")


async def _read_body(receive: Receive) -> Mapping[str, Any]:
    """Return the JSON object of a request. Its text may be a secret: it is kept nowhere."""
    body = b""
    while True:
        message = await receive()
        if message["type"] != "http.request":
            raise HttpRefusal(400, "The request has ended.")
        body += message.get("body", b"")
        if len(body) > _LONGEST_BODY:
            raise HttpRefusal(413, "This is too long for an answer.")
        if not message.get("more_body"):
            break
    try:
        given = json.loads(body)
    except ValueError:
        given = None
    if not isinstance(given, dict):
        raise HttpRefusal(400, "The body must be a JSON object.")
    return given


def _find_cookie(header: bytes, name: str) -> str:
    cookies: SimpleCookie = SimpleCookie()
    try:
        cookies.load(header.decode("latin-1"))
    except CookieError:
        return ""
    found = cookies.get(name)
    return found.value if found is not None else ""
