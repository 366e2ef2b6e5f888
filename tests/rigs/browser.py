"""A headless Chromium, spoken to in its own protocol by two pipes: nothing has to be installed for it."""

from __future__ import annotations

import asyncio
import base64
import itertools
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

LIMIT_S = 30.0
PROGRAM = next(
    (path for name in ("chromium", "google-chrome", "chrome") if (path := shutil.which(name))), None
)

_FLAGS = (
    *("--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run"),
    *("--disable-extensions", "--disable-background-networking", "--disable-component-update"),
    *("--disable-sync", "--mute-audio", "--hide-scrollbars", "--remote-debugging-pipe"),
)


class Tab:
    """One page; `problems` are errors and what its policy blocked, `requests` all that it asked for."""

    def __init__(self, reader: asyncio.StreamReader, writer: int) -> None:
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._session: str | None = None
        self._reader, self._writer = reader, writer
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._listening = asyncio.create_task(self._listen())

    async def begin(self) -> None:
        target = await self.ask("Target.createTarget", url="about:blank")
        attached = await self.ask("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            await self.ask(f"{domain}.enable")

    async def ask(self, method: str, **params: Any) -> dict[str, Any]:
        number = next(self._ids)
        message = {"id": number, "method": method, "params": params}
        if self._session is not None:
            message["sessionId"] = self._session
        self._waiting[number] = answer = asyncio.get_running_loop().create_future()
        os.write(self._writer, json.dumps(message).encode() + b"\0")
        reply = await asyncio.wait_for(answer, LIMIT_S)
        if "error" in reply:
            raise AssertionError(f"{method}: {reply['error']}")
        return dict(reply["result"])

    async def open(self, url: str) -> None:
        await self.ask("Page.navigate", url=url)
        await self.until(f"document.readyState === 'complete' && location.href === {json.dumps(url)}")

    async def look(self, width: int, height: int, *, scheme: str = "dark") -> None:
        await self.ask(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        await self.ask("Emulation.setEmulatedMedia", features=[feature])

    async def value(self, script: str) -> Any:
        """What an expression is in the page."""
        answer = await self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise AssertionError(json.dumps(answer["exceptionDetails"])[:1000])
        return answer["result"].get("value")

    async def until(self, script: str, is_good: Callable[[Any], object] = bool) -> Any:
        deadline = time.monotonic() + LIMIT_S
        while not is_good(found := await self.value(script)):
            assert time.monotonic() < deadline, f"{script}: still {found!r}; {self.problems}"
            await asyncio.sleep(0.02)
        return found

    async def press(self, key: str) -> None:
        codes = {"Enter": ("\r", 13), "Escape": ("", 27), "Tab": ("", 9)}
        text, code = codes.get(key, (key, ord(key[0].upper())))
        for kind in ("keyDown", "keyUp"):
            typed = text if kind == "keyDown" else ""
            await self.ask(
                "Input.dispatchKeyEvent", type=kind, key=key, text=typed, windowsVirtualKeyCode=code
            )

    async def picture(self, path: Path) -> None:
        shot = await self.ask("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))

    async def end(self) -> None:
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)

    async def _listen(self) -> None:
        while True:
            message = json.loads((await self._reader.readuntil(b"\0"))[:-1])
            if "id" in message:
                waiting = self._waiting.pop(message["id"])
                if not waiting.done():
                    waiting.set_result(message)
            else:
                self._hear(message["method"], message["params"])

    def _hear(self, method: str, params: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(params["exceptionDetails"])[:500])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.problems.append(params["entry"]["text"])
        elif method == "Audits.issueAdded" and params["issue"]["code"] == "ContentSecurityPolicyIssue":
            self.problems.append(json.dumps(params["issue"])[:500])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])


@asynccontextmanager
async def browser() -> AsyncIterator[Tab]:
    assert PROGRAM is not None
    home = tempfile.mkdtemp(prefix="mxb", dir="/tmp")
    process, reader, writer = await _started(home)
    tab = Tab(reader, writer)
    try:
        await tab.begin()
        yield tab
    finally:
        await tab.end()
        os.close(writer)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(LIMIT_S)
        shutil.rmtree(home, ignore_errors=True)


async def _started(home: str) -> tuple[subprocess.Popen[bytes], asyncio.StreamReader, int]:
    """The program reads from its descriptor 3 and writes to 4."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    line = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
    process = subprocess.Popen(
        ["/bin/bash", "-c", line, "browser", PROGRAM or "", *_FLAGS, f"--user-data-dir={home}/data"],
        pass_fds=(theirs_in, theirs_out),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "HOME": home, "LANG": "C.UTF-8"},
        start_new_session=True,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    reader = asyncio.StreamReader(limit=1 << 26)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours_in, "rb")
    )
    return process, reader, ours_out
