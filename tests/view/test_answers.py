"""Answers through the page: who may give them, and who may not."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import sys
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx2
import pytest

from muxpilot.view.answer_gate import AnswerGate, BrowserPass
from tests.rigs.asking import use_home
from tests.rigs.page_answers import AskingPage, asking_page
from tests.rigs.view_page import open_page, run_view
from tests.rigs.waiting import eventually
from tests.rigs.wire import LIMIT_S, Pending, private_place

SECRET = "correct-horse-battery"


@pytest.fixture
async def page() -> AsyncIterator[AskingPage]:
    async with asking_page() as page:
        yield page


async def answer_of(pending: Pending) -> Any:
    message = await asyncio.wait_for(pending, LIMIT_S)
    assert not message["result"].get("isError"), message
    return message["result"]["structuredContent"]


async def test_a_question_is_answered_on_the_page_after_the_code(page: AskingPage) -> None:
    pending = await page.start_asking(question="Which <b>port</b>?\x1b[31m")
    await page.unlock()
    question = await page.wait_for_question()
    assert question["text"] == "Which <b>port</b>?\\x1b[31m"
    assert question["asker"] == "wire"
    assert (await page.post("answer", {"id": question["id"], "answer": "8080"})).json() == {"problem": ""}
    assert await answer_of(pending) == {"answered": True, "how": "view", "answer": "8080"}
    assert await page.open_questions() == []


async def test_a_choice_is_given_by_its_place_and_a_person_can_decline(page: AskingPage) -> None:
    await page.unlock()
    pending = await page.start_asking(question="Where?", choices=["2", "production"])
    question = await page.wait_for_question()
    for wrong in ({"choice": 2}, {"choice": -1}, {"choice": "production"}, {"answer": "moon"}, {}):
        answer = await page.post("answer", {"id": question["id"], **wrong})
        assert answer.json()["problem"], wrong
    await page.post("answer", {"id": question["id"], "choice": 0})
    assert (await answer_of(pending))["answer"] == "2"
    pending = await page.start_asking(question="Sure?")
    await page.post("answer", {"id": (await page.wait_for_question())["id"], "decline": True})
    assert await answer_of(pending) == {"answered": False, "how": "view: declined", "answer": None}
    closed = await page.post("answer", {"id": question["id"], "choice": 0})
    assert closed.json()["problem"] == "The question is closed."


async def test_a_secret_goes_into_the_pane_and_nowhere_else(page: AskingPage, tmp_path: Path) -> None:
    got = tmp_path / "got"
    ask = f"stty -echo; printf 'Password: '; read -r line; printf %s \"$line\" >{got}; stty echo; exec cat"
    pane = page.place.tmux("new-window", "-d", "-t", "=dev:", "-P", "-F", "#{pane_id}", ask)

    async def is_asking() -> bool:
        return "Password:" in page.place.tmux("capture-pane", "-p", "-t", pane)

    await eventually(is_asking)
    await page.unlock()
    pending = await page.start_asking(question="sudo", paneId=pane, secret=True)
    question = await page.wait_for_question()
    assert question["isSecret"] is True
    answer = await page.post("answer", {"id": question["id"], "answer": SECRET})
    assert SECRET not in answer.text
    told = await answer_of(pending)
    assert told == {"answered": True, "how": "view", "answer": None}

    async def has_got() -> bool:
        return got.exists() and got.read_text() == SECRET

    await eventually(has_got)
    assert SECRET not in page.place.tmux("capture-pane", "-p", "-t", pane)


async def test_an_approval_is_given_on_the_page(tmp_path: Path) -> None:
    config = tmp_path / "config.toml"
    config.write_text('[security]\nask = ["@kill"]\n')
    audit = tmp_path / "audit"
    async with asking_page("--config", str(config), "--audit", str(audit)) as page:
        made = await page.wire.call("create-session", name="agent", command="cat")
        await page.unlock()
        for choice, is_there in ((2, True), (0, False)):
            pending = await page.wire.start_call("kill-session", sessionId=made["sessionId"])
            question = await page.wait_for_question()
            assert question["choices"] == ["allow once", "allow for this session", "deny"]
            assert "kill-session" in question["text"]
            assert "agent" in page.place.tmux("list-sessions", "-F", "#{session_name}").split()
            await page.post("answer", {"id": question["id"], "choice": choice})
            told = (await asyncio.wait_for(pending, LIMIT_S))["result"]
            assert told.get("isError", False) is is_there
            found = page.place.tmux("list-sessions", "-F", "#{session_name}").split()
            assert ("agent" in found) is is_there
            approval = json.loads(audit.read_text().splitlines()[-1])["approval"]
            assert approval["said"] == question["choices"][choice]
            assert approval["by"].startswith("browser 1 of the view page at 127.0.0.1:")
            assert approval["by"].endswith(f" (process {os.getpid()})")
            assert approval["asked"] == [f"view page at {page.ask}"]


async def test_one_who_knows_the_addresses_but_not_the_code_sees_and_answers_nothing(
    page: AskingPage,
) -> None:
    """The address with the token shows questions, as it shows panes; it takes no answer."""
    pending = await page.start_asking(question="Deploy?", choices=["yes", "no"])
    async with open_page(page.address) as watching:
        await watching.wait_until(lambda: watching.questions)
        identity = watching.questions[0]["id"]
    for body in ({"id": identity, "choice": 0}, {"id": identity, "decline": True}):
        for key in ("", "x" * 32):
            page.client.cookies.set(f"muxpilot-view-{page.origin.rpartition(':')[2]}", "x" * 32, path="/ask/")
            refused = await page.post("answer", body, **{"x-muxpilot-key": key})
            assert (refused.status_code, refused.text) == (403, "Enter the code of the terminal first.\n")
    assert (await page.client.get(f"{page.ask}open")).status_code == 403
    for name in ("", "answer", "ask.html"):
        assert (await page.client.post(page.address + name, json={})).status_code == 405
    assert not pending.done()
    for path in ("", "questions.js", "ask.js", "page.css"):
        shown = await page.client.get(page.ask + path)
        assert shown.status_code == 200
        assert "Deploy?" not in shown.text


async def test_the_cookie_alone_and_the_key_alone_are_not_enough(page: AskingPage) -> None:
    """Browsers send the cookie to every port of this machine, so a server of an agent may get it."""
    await page.unlock()
    pending = await page.start_asking(question="Sure?")
    question = await page.wait_for_question()
    body = {"id": question["id"], "answer": "yes"}
    assert (await page.post("answer", body, **{"x-muxpilot-key": ""})).status_code == 403
    page.client.cookies.clear()
    assert (await page.post("answer", body)).status_code == 403
    assert not pending.done()


async def test_the_cookie_is_hidden_from_scripts_and_other_sites(page: AskingPage) -> None:
    answer = await page.post("code", {"code": page.codes[-1].lower().replace("-", " ")})
    cookie = answer.headers["set-cookie"]
    assert re.search(r"^muxpilot-view-\d+=[\w-]{32}; Path=/ask/; HttpOnly; SameSite=Strict$", cookie)


@pytest.mark.parametrize(
    ("status", "headers"),
    [
        (403, {"origin": "http://evil.example"}),
        (403, {"origin": "null"}),
        (403, {"origin": "http://127.0.0.1:1"}),
        (403, {"origin": "http://localhost"}),
        (403, {"sec-fetch-site": "cross-site"}),
        (403, {"sec-fetch-site": "same-site"}),
        (403, {"content-type": "text/plain"}),
        (421, {"host": "evil.example"}),
        (421, {"host": "127.0.0.1"}),
        (421, {"host": "127.0.0.1.evil.example:80"}),
    ],
)
async def test_a_page_of_another_origin_answers_nothing(
    page: AskingPage, status: int, headers: dict[str, str]
) -> None:
    """It may know everything else: address, code, cookie and key."""
    await page.unlock()
    pending = await page.start_asking(question="Sure?")
    question = await page.wait_for_question()
    answer = await page.post("answer", {"id": question["id"], "answer": "yes"}, **headers)
    assert answer.status_code == status
    assert (await page.post("code", {"code": page.codes[0]}, **headers)).status_code == status
    assert not any(name.startswith("access-control") for name in answer.headers)
    assert not pending.done()


async def test_a_form_without_an_origin_and_odd_bodies_are_refused(page: AskingPage) -> None:
    await page.unlock()
    json_type = {"content-type": "application/json", "x-muxpilot-key": page.key}
    plain = await page.client.post(f"{page.ask}answer", content=b"{}", headers=json_type)
    assert plain.status_code == 403
    with_origin = {**json_type, "origin": page.origin}
    for body, status in ((b"[]", 400), (b"{", 400), (b"\xff", 400), (b" " * 20_000, 413)):
        answer = await page.client.post(f"{page.ask}answer", content=body, headers=with_origin)
        assert answer.status_code == status, body[:10]
    for method in ("PUT", "DELETE", "OPTIONS", "PATCH"):
        assert (await page.client.request(method, f"{page.ask}answer")).status_code == 405
    assert (await page.client.get(f"{page.ask}nowhere")).status_code == 404


async def test_a_program_in_a_pane_of_an_agent_cannot_use_the_page(page: AskingPage) -> None:
    """It knows the address, and even the code."""
    made = await page.wire.call("create-session", name="agent", command="cat")
    told = page.place.home / "told"
    program = (
        "import urllib.request as u, urllib.error as e\n"
        f"r = u.Request({page.ask + 'code'!r}, {json.dumps({'code': page.codes[-1]}).encode()!r}, "
        f"{{'content-type': 'application/json', 'origin': {page.origin!r}}})\n"
        "try: text = u.urlopen(r).read().decode()\n"
        "except e.HTTPError as error: text = f'{error.code} {error.read().decode()}'\n"
        f"open({str(told)!r}, 'w').write(text)"
    )
    line = shlex.join([sys.executable, "-c", program])
    await page.wire.call("create-window", sessionId=made["sessionId"], command=line)

    async def is_told() -> bool:
        return told.exists() and bool(told.read_text())

    await eventually(is_told)
    assert told.read_text() == "403 A program in an agent's pane cannot answer.\n"
    await page.unlock()  # the code is still good for the person


# Gives the code, and then an answer: the whole way of a browser.
BROWSER = """
import json, sys, urllib.request as u
ask, origin, code, question = sys.argv[1:]

def post(path, body, **headers):
    headers = {"content-type": "application/json", "origin": origin, **headers}
    return u.urlopen(u.Request(ask + path, json.dumps(body).encode(), headers))

unlocked = post("code", {"code": code})
cookie = unlocked.headers["set-cookie"].split(";")[0]
key = json.loads(unlocked.read())["key"]
answer = {"id": question, "answer": "yes"}
print("said:", post("answer", answer, cookie=cookie, **{"x-muxpilot-key": key}).read().decode())
"""


async def test_a_program_that_the_agent_starts_in_a_persons_pane_cannot_use_the_page(
    page: AskingPage,
) -> None:
    """Such a pane is no agent's for the page. The muxpilot that asks knows that it has typed there."""
    pane = page.place.tmux("new-window", "-d", "-t", "=dev:", "-P", "-F", "#{pane_id}", "exec sh")
    pending = await page.start_asking(question="Sure?")
    async with open_page(page.address) as watching:
        await watching.wait_until(lambda: watching.questions)
        question = watching.questions[0]["id"]
    script = page.place.home / "browser.py"
    script.write_text(BROWSER)
    argv = [sys.executable, str(script), page.ask, page.origin, page.codes[-1], question]
    answer = await page.wire.call("execute-command", paneId=pane, command=shlex.join(argv))
    assert 'said: {"problem":"A program in an agent\'s pane cannot answer."}' in answer["output"]
    assert not pending.done()


async def test_questions_about_other_servers_are_not_shown(page: AskingPage, tmp_path: Path) -> None:
    async with asking_page() as other:
        pending = await other.start_asking(question="Elsewhere?")
        await other.unlock()
        await page.unlock()
        question = await other.wait_for_question()
        assert await page.open_questions() == []
        refused = await page.post("answer", {"id": question["id"], "answer": "yes"})
        assert refused.json()["problem"] == "The question is closed."
        assert not pending.done()


async def test_when_the_page_ends_the_reply_says_how_to_attach() -> None:
    with private_place() as place, use_home(place):
        place.tmux("new-session", "-d", "-s", "dev", "-x", "80", "-y", "24", "exec cat")
        async with place.serve("--scope", "all") as wire:
            await wire.shake_hands()
            async with run_view(place.socket) as address, open_page(address) as watching:
                pending = await wire.start_call("ask-person", question="Here?")
                await watching.wait_until(lambda: watching.questions)
            told = await answer_of(pending)
            assert told["answered"] is False
            assert f"-S {place.socket} attach" in told["how"]


def test_wrong_codes_are_counted_and_a_code_is_good_once() -> None:
    now, codes = [100.0], list[str]()
    gate = AnswerGate(codes.append, lambda: now[0])
    first = codes[-1]
    assert re.fullmatch("[A-Z2-9]{4}-[A-Z2-9]{4}", first)
    for _ in range(4):
        assert gate.unlock("AAAA-AAAA") == "This is not the code."
    assert "too many" in str(gate.unlock(""))
    assert len(codes) == 2
    assert "Wait 60 s" in str(gate.unlock(codes[-1])), "the right one is not taken either"
    now[0] += 61
    assert gate.unlock(first) == "This is not the code."
    made = gate.unlock(codes[-1])
    assert isinstance(made, BrowserPass)
    assert codes[-1] == ""
    assert gate.find_browser(made.cookie, made.key)
    assert not gate.find_browser(made.cookie, "") and not gate.find_browser("", made.key)  # noqa: PT018
    assert "was used" in str(gate.unlock(codes[-2]))
    assert "was used" in str(gate.unlock(""))
    gate.renew_code()
    other = gate.unlock(codes[-1])
    assert isinstance(other, BrowserPass)
    assert not gate.find_browser(made.cookie, other.key), "cookie and key belong together"


def test_where_others_read_the_terminal_a_code_is_shown_on_demand_and_for_a_minute() -> None:
    now, codes, hidden = [100.0], list[str](), list[bool]()
    gate = AnswerGate(codes.append, lambda: now[0], hide_code=lambda: hidden.append(True))
    assert (codes, hidden) == ([], [True])
    assert "no code now" in str(gate.unlock(""))
    gate.renew_code()
    now[0] += 59
    gate.drop_old_code()
    assert (len(codes), len(hidden)) == (1, 1)
    now[0] += 1
    assert "no code now" in str(gate.unlock(codes[-1])), "it is too old"
    assert len(hidden) == 2
    gate.renew_code()
    for _ in range(5):
        gate.unlock("AAAA-AAAA")
    assert (len(codes), len(hidden)) == (2, 3), "wrong codes show no new one"
    now[0] += 61
    gate.renew_code()
    assert isinstance(gate.unlock(codes[-1]), BrowserPass)
    now[0] += 61
    gate.drop_old_code()
    assert len(hidden) == 3, "a code that was used is not told again"


async def test_the_page_for_answers_has_the_same_strict_headers(page: AskingPage) -> None:
    for answer in (
        await page.client.get(page.ask),
        await page.client.get(f"{page.ask}open"),
        await page.post("code", {"code": "x"}),
    ):
        headers = answer.headers
        assert headers["content-security-policy"].startswith("default-src 'self';")
        assert "form-action 'none'" in headers["content-security-policy"]
        assert "frame-ancestors 'none'" in headers["content-security-policy"]
        assert "unsafe" not in headers["content-security-policy"]
        assert headers["cache-control"] == "no-store"
        assert headers["referrer-policy"] == "no-referrer"
        assert isinstance(answer, httpx2.Response)
