"""Questions on the page in a real browser: with the keyboard, for a screen reader, and against markup."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from tests.rigs.browser import PROGRAM, BrowserTab
from tests.rigs.page_answers import AskingPage, asking_page
from tests.rigs.waiting import eventually
from tests.rigs.wire import LIMIT_S, Pending

pytestmark = [
    pytest.mark.asyncio(loop_scope="module"),
    pytest.mark.skipif(PROGRAM is None, reason="there is no Chromium here"),
    pytest.mark.timeout(120),  # a browser starts slowly on a busy machine
]

MARKUP = "<img src=x onerror='window.hit=1'><script>window.hit=1</script>\n<b>Deploy</b> #(touch x)\u202e"
STATE = "document.getElementById('questions-state').textContent"
WORDS = "[...document.querySelectorAll('.words')].map(each => each.textContent)"
FOCUS = "document.activeElement.id || document.activeElement.className || document.activeElement.textContent"
IS_SHOWN = "document.querySelector('{}')?.checkVisibility() ?? false"


@pytest_asyncio.fixture(loop_scope="module")
async def tab(browser: BrowserTab) -> BrowserTab:
    await browser.attach()
    await browser.set_appearance(1100, 760)
    return browser


@pytest_asyncio.fixture(loop_scope="module")
async def page() -> AsyncIterator[AskingPage]:
    async with asking_page() as page:
        yield page


async def answer_of(pending: Pending) -> Any:
    message = await asyncio.wait_for(pending, LIMIT_S)
    return message["result"]["structuredContent"]


async def type_text(tab: BrowserTab, text: str) -> None:
    await tab.request("Input.insertText", text=text)


async def unlock(tab: BrowserTab, page: AskingPage) -> None:
    """Give the code with the keyboard."""
    await tab.evaluate("document.getElementById('code').focus()")
    await type_text(tab, page.codes[-1])
    await tab.press("Enter")
    await tab.wait_until(f"!{IS_SHOWN.format('#unlock')}")


async def press_tab_until(tab: BrowserTab, script: str) -> None:
    """Move the focus with the Tab key until it is where it is wanted."""
    for _ in range(30):
        if await tab.evaluate(script):
            return
        await tab.press("Tab")
    raise AssertionError(f"{script}: the Tab key does not lead there")


async def test_markup_in_a_question_is_text_and_the_keyboard_is_enough(
    page: AskingPage, tab: BrowserTab, tmp_path: Path
) -> None:
    pending = await page.start_asking(question=MARKUP, choices=["staging", "<i>production</i>"])
    await tab.open(page.address)
    await tab.wait_until(STATE, lambda text: text == "1 open question")
    [words] = await tab.evaluate(WORDS)
    assert words == MARKUP.replace("\u202e", "\\u202e")
    assert (
        await tab.evaluate("document.querySelectorAll('#questions img, #questions b, #questions i').length")
        == 0
    )
    assert not await tab.evaluate(IS_SHOWN.format(".choices")), "no button before the code"
    await tab.save_screenshot(tmp_path / "locked.png")
    await unlock(tab, page)
    assert await tab.evaluate("document.activeElement.className") == "who"
    await press_tab_until(tab, "document.activeElement.textContent === '<i>production</i>'")
    await tab.save_screenshot(tmp_path / "choices.png")
    await tab.press("Enter")
    assert await answer_of(pending) == {"answered": True, "how": "view", "answer": "<i>production</i>"}
    await tab.wait_until("document.querySelectorAll('.question').length", lambda count: count == 0)
    assert await tab.evaluate("document.activeElement.id") == "questions-title"
    assert await tab.evaluate("window.hit") is None
    assert tab.problems == []


HOLD_ANSWERS = """
{
  const send = window.fetch;
  window.fetch = async (...words) => {
    const answer = await send(...words);
    if (String(words[0]).endsWith("/answer")) await new Promise((resolve) => (window.goOn = resolve));
    return answer;
  };
}
"""


async def test_the_focus_moves_on_where_the_list_comes_before_the_reply(
    page: AskingPage, tab: BrowserTab
) -> None:
    pending = await page.start_asking(question="Which one?", choices=["staging", "production"])
    await tab.open(page.address)
    await tab.wait_until(STATE, lambda text: text == "1 open question")
    await unlock(tab, page)
    await tab.evaluate(HOLD_ANSWERS)
    await press_tab_until(tab, "document.activeElement.textContent === 'production'")
    await tab.press("Enter")
    assert (await answer_of(pending))["answer"] == "production"
    await tab.wait_until("document.querySelectorAll('.question').length", lambda count: count == 0)
    assert await tab.evaluate("document.activeElement.id") == "questions-title"
    await tab.wait_until("window.goOn !== undefined")
    await tab.evaluate("window.goOn()")
    await tab.wait_until(STATE, lambda text: text == "Answered.")
    assert tab.problems == []


async def test_a_secret_is_not_shown_and_is_gone_from_the_page(
    page: AskingPage, tab: BrowserTab, tmp_path: Path
) -> None:
    got = tmp_path / "got"
    ask = f"stty -echo; printf 'Password: '; read -r line; printf %s \"$line\" >{got}; stty echo; exec cat"
    pane = page.place.tmux("new-window", "-d", "-t", "=dev:", "-P", "-F", "#{pane_id}", ask)

    async def is_asking() -> bool:
        return "Password:" in page.place.tmux("capture-pane", "-p", "-t", pane)

    await eventually(is_asking)
    await tab.open(page.ask)
    await unlock(tab, page)
    pending = await page.start_asking(question="sudo on web1", paneId=pane, secret=True)
    await tab.wait_until(STATE, lambda text: text == "1 open question")
    await press_tab_until(tab, "document.activeElement.type === 'password'")
    await type_text(tab, "hunter2 horse")
    await tab.save_screenshot(tmp_path / "secret.png")
    await tab.press("Enter")
    assert await answer_of(pending) == {"answered": True, "how": "view", "answer": None}

    async def has_got() -> bool:
        return got.exists() and got.read_text() == "hunter2 horse"

    await eventually(has_got)
    everything = (
        "document.documentElement.outerHTML + [...document.querySelectorAll('input')].map(e => e.value)"
    )
    assert "hunter2" not in await tab.evaluate(everything)
    assert "hunter2" not in await tab.evaluate("JSON.stringify({...sessionStorage, ...localStorage})")
    assert not any("hunter2" in address for address in tab.requests)
    assert tab.problems == []


async def test_a_new_question_leaves_the_focus_and_what_is_being_typed(
    page: AskingPage, tab: BrowserTab
) -> None:
    await tab.open(page.ask)
    await unlock(tab, page)
    first = await page.start_asking(question="First?")
    await tab.wait_until(STATE, lambda text: text == "1 open question")
    await press_tab_until(tab, "document.activeElement.type === 'text'")
    await type_text(tab, "half an ans")
    second = await page.start_asking(question="Second?")
    await tab.wait_until(STATE, lambda text: text == "2 open questions")
    assert await tab.evaluate("document.activeElement.value") == "half an ans"
    assert (await tab.evaluate("document.title")).startswith("(2) ")
    await type_text(tab, "wer")
    await tab.press("Enter")
    assert (await answer_of(first))["answer"] == "half an answer"
    await tab.wait_until("document.querySelectorAll('.question').length", lambda count: count == 1)
    await press_tab_until(tab, "document.activeElement.className === 'no'")
    await tab.press("Enter")
    assert (await answer_of(second))["how"] == "view: declined"


async def test_a_wrong_code_is_told_and_leads_back_to_the_field(page: AskingPage, tab: BrowserTab) -> None:
    await page.start_asking(question="Sure?")
    await tab.open(page.ask)
    await tab.evaluate("document.getElementById('code').focus()")
    await type_text(tab, "AAAA-AAAA")
    await tab.press("Enter")
    problem = "document.getElementById('code-problem').textContent"
    await tab.wait_until(problem, lambda text: text == "This is not the code.")
    assert await tab.evaluate("document.activeElement.id") == "code"
    assert await tab.evaluate("document.querySelectorAll('.question').length") == 0


async def test_a_screen_reader_gets_names_roles_and_news(page: AskingPage, tab: BrowserTab) -> None:
    await tab.open(page.ask)
    await unlock(tab, page)
    await page.start_asking(question="Which port?")
    await tab.wait_until(STATE, lambda text: text == "1 open question")
    tree = await tab.request("Accessibility.getFullAXTree")
    named = {
        (node["role"]["value"], node.get("name", {}).get("value", ""))
        for node in tree["nodes"]
        if not node["ignored"]
    }
    assert ("region", "Questions of agents") in named
    assert ("group", "wire (workspace agent-home) asks") in named
    assert ("textbox", "Your answer") in named
    assert {("button", "Send"), ("button", "Do not answer")} <= named
    roles = {node["role"]["value"] for node in tree["nodes"] if not node["ignored"]}
    assert {"status", "heading"} <= roles
    alerts = "[...document.querySelectorAll('.problem')].every(each => each.getAttribute('role') === 'alert')"
    assert await tab.evaluate(alerts)


@asynccontextmanager
async def serve_other_site(cookies: list[str]) -> AsyncIterator[int]:
    """Serve a page, and note the cookies that come with requests for it. Yield the port."""
    writers: list[asyncio.StreamWriter] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writers.append(writer)
        with suppress(asyncio.IncompleteReadError):  # Chromium also opens connections that it never uses
            head = (await reader.readuntil(b"\r\n\r\n")).decode()
            cookies.extend(line for line in head.splitlines() if line.lower().startswith("cookie:"))
            writer.write(b"HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n\r\n<p>hello")
            await writer.drain()
        writer.close()

    async with await asyncio.start_server(serve, "127.0.0.1", 0) as server:
        yield server.sockets[0].getsockname()[1]
    for writer in writers:
        writer.close()
        await asyncio.wait_for(writer.wait_closed(), LIMIT_S)


async def test_a_page_of_another_port_cannot_answer_in_the_same_browser(
    page: AskingPage, tab: BrowserTab
) -> None:
    """The person's browser has the cookie. A server that an agent runs on this machine shows them a page."""
    pending = await page.start_asking(question="Sure?")
    await tab.open(page.ask)
    await unlock(tab, page)
    await tab.wait_until(STATE, lambda text: text == "1 open question")
    question = (await tab.evaluate("document.querySelector('.who').id")).removeprefix("who-")
    cookies: list[str] = []
    async with serve_other_site(cookies) as port:
        await tab.open(f"http://127.0.0.1:{port}/ask/evil")
        body = json.dumps({"id": question, "answer": "yes"})
        for kind in ("application/json", "text/plain"):
            script = (
                f"fetch({json.dumps(page.ask + 'answer')}, {{method: 'POST', credentials: 'include', body: "
                f"{json.dumps(body)}, headers: {{'content-type': {json.dumps(kind)}}}}})"
                ".then(answer => answer.status, error => 'blocked')"
            )
            assert await tab.evaluate(script) == "blocked"
        assert cookies, "the browser sends the cookie to other ports, so it cannot be all that is needed"
    assert not pending.done()
