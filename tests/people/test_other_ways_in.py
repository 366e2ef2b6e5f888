"""Ways around the guards of a question: each is refused, and the question stays open."""

from __future__ import annotations

import asyncio
import shlex
import sys
from collections.abc import AsyncIterator

import pytest

from tests.rigs.asking import Asking, see_popup, start_asking
from tests.rigs.waiting import eventually
from tests.rigs.wire import LIMIT_S, TMUX

ANSWER = """
import asyncio
from muxpilot.people.other_processes import answer_question, list_open_questions

async def main():
    [row] = [row for row in await list_open_questions() if row.text == "Approve it?"]
    print("said:", repr(await answer_question(row, "yes", way="view")))

asyncio.run(main())
"""


@pytest.fixture
async def asking() -> AsyncIterator[Asking]:
    async with start_asking() as found:
        yield found


async def test_keys_that_reach_a_popup_through_synchronized_panes_are_refused(asking: Asking) -> None:
    outer = {"socket": str(asking.place.home / "outer")}
    inner = f"env -u TMUX {TMUX} -S {asking.place.socket} attach -t dev"
    made = await asking.wire.call("create-session", name="outer", command=inner, **outer)
    other = await asking.wire.call("split-pane", paneId=made["paneId"], command="cat", **outer)
    await asking.wire.call("set-synchronize-panes", windowId=made["windowId"], enabled=True, **outer)
    pending = await asking.ask(question="Approve?")

    async def shows_popup() -> bool:
        return "Escape: no answer" in await asking.wire.call("capture-pane", paneId=made["paneId"], **outer)

    await eventually(shows_popup)
    sent = await asking.wire.start_call("send-keys", paneId=other["paneId"], keys="yes", enter=True, **outer)
    message = await asyncio.wait_for(sent, LIMIT_S)
    assert message["result"]["isError"], message
    assert "An agent cannot answer its own question." in message["result"]["content"][0]["text"]
    assert not pending.done()
    await asking.wire.call("kill-session", sessionId="outer", **outer)


async def test_a_program_in_an_agents_pane_of_another_server_cannot_answer(asking: Asking) -> None:
    script = asking.place.home / "answer.py"
    script.write_text(ANSWER)
    other = {"socket": str(asking.place.home / "other")}
    async with asking.person() as person:
        pending = await asking.ask(question="Approve it?")
        await see_popup(person)
        made = await asking.wire.call("create-session", name="o", **other)
        command = shlex.join([sys.executable, str(script)])
        answer = await asking.wire.call("execute-command", paneId=made["paneId"], command=command, **other)
        assert "said:" in answer["output"]
        assert "said: ''" not in answer["output"]
        assert not pending.done()
    await asking.wire.call("kill-session", sessionId="o", **other)
