"""Draw the picture of docs/view.md: what `muxpilot view` shows while an agent works and asks a person.

.venv/bin/python -m docs.view_picture docs/view.png

Run it in the folder of the sources. It needs Chromium, and vim.
"""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp_types import Implementation, TextContent
from PIL import Image

from tests.rigs.browser import BrowserTab, start_browser

LIMIT_S = 120
PANE = {"width": 76, "height": 21}
WINDOW = (1360, 850)
FILES = {
    ".bash_profile": f"PATH={Path(sys.executable).parent}:$PATH\nPS1='\\[\\e[1;36m\\]shop\\[\\e[0m\\] $ '\n",
    ".vimrc": "syntax on\nset background=dark nomodeline viminfo=\n",
    ".python_history": "",
    "pytest.ini": "[pytest]\naddopts = -q --color=yes --tb=short -p no:asyncio -p no:randomly\n",
    "policy.toml": "[security.tools]\nitems = ['kill-window']\n",
    "cart.py": '''"""A cart that knows its total."""

from dataclasses import dataclass, field


@dataclass
class Line:
    name: str
    price: int
    count: int = 1


@dataclass
class Cart:
    lines: list[Line] = field(default_factory=list)

    def add(self, line: Line) -> None:
        self.lines.append(line)
''',
    "test_cart.py": """from cart import Cart, Line


def test_a_line_is_added():
    cart = Cart()
    cart.add(Line("tea", 450))
    assert len(cart.lines) == 1


def test_a_discount_is_taken_off():
    assert Cart().total_with(discount=10) == 0
""",
}
# What the picture must show of each window before it is taken.
WANTED = ("1 failed, 1 passed", "class Cart", "[450, 900, 1350]", "Serving HTTP")
TEXTS = "[...document.querySelectorAll('.xterm-rows')].map(each => each.innerText).join('\\n')"
OPEN_QUESTION = "document.querySelector('.choices button')?.checkVisibility() ?? false"
NOTHING_MOVES = "document.querySelectorAll('.scrollbar.visible').length === 0"  # shown while a pane scrolls
CALLS = "[...document.querySelectorAll('#audit .outcome')].map(each => each.textContent)"


@dataclass(frozen=True, slots=True)
class Place:
    """A folder with a tmux server, a policy and an audit log of its own."""

    folder: Path

    def argv(self, *words: str) -> list[str]:
        flags = (
            "--socket",
            "s",
            "--workspace",
            "agent-shop",
            "--config",
            "policy.toml",
            "--audit",
            "audit.jsonl",
        )
        return [sys.executable, "-m", "muxpilot", *flags, *words]

    @property
    def env(self) -> dict[str, str]:
        known = {"PATH": os.environ["PATH"], "LANG": "C.UTF-8", "SHELL": "/bin/bash"}
        return {**known, "HOME": str(self.folder), "XDG_RUNTIME_DIR": str(self.folder)}


async def main(picture: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="mx", ignore_cleanup_errors=True) as home:
        place = Place(Path(home))
        for name, text in FILES.items():
            (place.folder / name).write_text(text)
        try:
            async with asyncio.timeout(LIMIT_S):
                await draw(place, picture)
        finally:
            end_tmux(f"{home}/s")


def end_tmux(socket: str) -> None:
    """End the tmux server if it still runs: a step that failed may have left it."""
    argv = ["tmux", "-S", socket, "kill-server"]
    subprocess.run(argv, check=False, stderr=subprocess.DEVNULL, timeout=LIMIT_S)


async def draw(place: Place, picture: Path) -> None:
    async with connect(place) as client, run_view(place) as (address, code), start_browser() as tab:
        await work(client)
        arguments = {"question": "The tests fail. Deploy all the same?", "choices": ["no", "yes"]}
        asking = asyncio.create_task(client.call_tool("ask-person", arguments))
        await tab.attach()
        await tab.set_appearance(*WINDOW)
        await tab.open(address)
        await unlock(tab, code)
        await tab.wait_until(TEXTS, is_complete)
        await tab.wait_until(CALLS, lambda outcomes: "denied" in outcomes)
        await tab.wait_until(NOTHING_MOVES)
        await tab.evaluate("document.activeElement.blur()")
        await tab.save_screenshot(picture)
        shrink(picture)
        asking.cancel()
        await call(client, "kill-session", sessionId="shop")


def shrink(picture: Path) -> None:
    """Keep 128 colours: the file is then a third as large."""
    with Image.open(picture) as shot:
        small = shot.convert("RGB").quantize(128, dither=Image.Dither.NONE)
    small.save(picture, optimize=True)


def is_complete(text: str) -> bool:
    return all(wanted in text.replace("\u00a0", " ") for wanted in WANTED)


async def unlock(tab: BrowserTab, code: str) -> None:
    """Give the code, as a person does, and wait for the question with its buttons."""
    await tab.wait_until("document.getElementById('unlock').checkVisibility()")
    await tab.evaluate(f"document.getElementById('code').value = {json.dumps(code)}")
    await tab.evaluate("document.querySelector('#unlock button').click()")
    await tab.wait_until(OPEN_QUESTION)


@asynccontextmanager
async def connect(place: Place) -> AsyncIterator[ClientSession]:
    """Start muxpilot as a client would."""
    command, *args = place.argv("--scope", "all")
    server = StdioServerParameters(command=command, args=args, env=place.env, cwd=place.folder)
    me = Implementation(name="claude-code", version="1")
    async with stdio_client(server) as streams, ClientSession(*streams, client_info=me) as client:
        await client.initialize()
        yield client


@asynccontextmanager
async def run_view(place: Place) -> AsyncIterator[tuple[str, str]]:
    """Run `muxpilot view`, and yield its address and its code."""
    process = await asyncio.create_subprocess_exec(
        *place.argv("view"), env=place.env, cwd=place.folder, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert process.stdout is not None
        address, _, code = [(await process.stdout.readline()).decode().strip() for _ in range(3)]
        yield address, code.rpartition(" ")[2]
    finally:
        process.terminate()
        await process.wait()


async def work(client: ClientSession) -> None:
    """Do what an agent might do, in four windows."""
    tests = (await call(client, "create-session", name="shop", windowName="tests", **PANE))["paneId"]
    edit, repl, server = [
        (await call(client, "create-window", sessionId="shop", name=name))["paneId"]
        for name in ("edit", "repl", "server")
    ]
    command = "python -m http.server 0 --bind 127.0.0.1"
    await call(client, "start-and-watch", paneId=server, command=command, pattern="Serving HTTP")
    await call(client, "execute-command", paneId=edit, command="vim cart.py")
    await call(client, "execute-command", paneId=tests, command="pytest")
    await call(client, "execute-command", paneId=repl, command="python -q")
    await call(client, "run-in-repl", paneId=repl, input="from cart import Cart, Line")
    await call(client, "run-in-repl", paneId=repl, input="[Line('tea', 450).price * n for n in range(1, 4)]")
    await client.call_tool("kill-window", {"windowId": "shop:edit"})


async def call(client: ClientSession, tool: str, /, **arguments: Any) -> dict[str, Any]:
    result = await client.call_tool(tool, arguments)
    [block] = result.content
    assert isinstance(block, TextContent)
    if result.is_error:
        raise SystemExit(f"{tool}: {block.text}")
    return result.structured_content or {}


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit("usage: python -m docs.view_picture OUT.png")
    asyncio.run(main(Path(sys.argv[1]).absolute()))
