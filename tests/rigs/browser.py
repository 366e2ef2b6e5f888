"""A headless Chromium, driven by the DevTools protocol over two pipes: no driver has to be installed."""

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


class BrowserTab:
    """One tab; `problems` are errors and blocked content, `requests` the addresses that it has loaded."""

    def __init__(self, reader: asyncio.StreamReader, writer: int) -> None:
        self.problems: list[str] = []
        self.requests: list[str] = []
        self._target: str | None = None
        self._session: str | None = None
        self._reader, self._writer = reader, writer
        self._ids = itertools.count(1)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._listening = asyncio.create_task(self._listen())

    async def attach(self) -> None:
        """Open an empty tab, and close the one before."""
        before, self._session = self._target, None
        self._target = (await self.request("Target.createTarget", url="about:blank"))["targetId"]
        if before is not None:
            await self.request("Target.closeTarget", targetId=before)
        attached = await self.request("Target.attachToTarget", targetId=self._target, flatten=True)
        self._session = attached["sessionId"]
        self.problems, self.requests = [], []
        for domain in ("Page", "Runtime", "Log", "Network", "Audits"):
            await self.request(f"{domain}.enable")

    async def request(self, method: str, **params: Any) -> dict[str, Any]:
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
        await self.request("Page.navigate", url=url)
        await self.wait_until(f"document.readyState === 'complete' && location.href === {json.dumps(url)}")

    async def set_appearance(self, width: int, height: int, *, scheme: str = "dark") -> None:
        await self.request(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=False,
        )
        feature = {"name": "prefers-color-scheme", "value": scheme}
        await self.request("Emulation.setEmulatedMedia", features=[feature])

    async def evaluate(self, script: str) -> Any:
        """Return the value of an expression in the page."""
        answer = await self.request(
            "Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True
        )
        if "exceptionDetails" in answer:
            raise AssertionError(json.dumps(answer["exceptionDetails"])[:1000])
        return answer["result"].get("value")

    async def wait_until(self, script: str, is_good: Callable[[Any], object] = bool) -> Any:
        deadline = time.monotonic() + LIMIT_S
        while not is_good(found := await self.evaluate(script)):
            assert time.monotonic() < deadline, f"{script}: still {found!r}; {self.problems}"
            await asyncio.sleep(0.02)
        return found

    async def press(self, key: str) -> None:
        codes = {"Enter": ("\r", 13), "Escape": ("", 27), "Tab": ("", 9)}
        text, code = codes.get(key, (key, ord(key[0].upper())))
        for kind in ("keyDown", "keyUp"):
            typed = text if kind == "keyDown" else ""
            await self.request(
                "Input.dispatchKeyEvent", type=kind, key=key, text=typed, windowsVirtualKeyCode=code
            )

    async def save_screenshot(self, path: Path) -> None:
        shot = await self.request("Page.captureScreenshot", format="png")
        path.write_bytes(base64.b64decode(shot["data"]))

    async def close(self) -> None:
        self._listening.cancel()
        await asyncio.gather(self._listening, return_exceptions=True)

    async def _listen(self) -> None:
        while True:
            message = json.loads((await self._reader.readuntil(b"\0"))[:-1])
            if "id" in message:
                waiting = self._waiting.pop(message["id"])
                if not waiting.done():
                    waiting.set_result(message)
            elif message.get("sessionId") == self._session:  # not of a tab before
                self._handle_event(message["method"], message["params"])

    def _handle_event(self, method: str, params: dict[str, Any]) -> None:
        if method == "Runtime.exceptionThrown":
            self.problems.append(json.dumps(params["exceptionDetails"])[:500])
        elif method == "Log.entryAdded" and params["entry"]["level"] == "error":
            self.problems.append(params["entry"]["text"])
        elif method == "Audits.issueAdded" and params["issue"]["code"] == "ContentSecurityPolicyIssue":
            self.problems.append(json.dumps(params["issue"])[:500])
        elif method == "Network.requestWillBeSent":
            self.requests.append(params["request"]["url"])


@asynccontextmanager
async def start_browser() -> AsyncIterator[BrowserTab]:
    """Start a browser, which has no tab before `attach`; end it with its folder on the way out."""
    assert PROGRAM is not None
    home = tempfile.mkdtemp(prefix="mxb", dir="/tmp")
    process, reader, writer = await _start_process(home)
    tab = BrowserTab(reader, writer)
    try:
        yield tab
    finally:
        await tab.close()
        os.close(writer)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait(LIMIT_S)
        shutil.rmtree(home, ignore_errors=True)


async def _start_process(home: str) -> tuple[subprocess.Popen[bytes], asyncio.StreamReader, int]:
    """Start the browser. It reads commands from descriptor 3 and writes events to 4."""
    theirs_in, ours_out = os.pipe()
    ours_in, theirs_out = os.pipe()
    line = f'exec "$@" 3<&{theirs_in} 4>&{theirs_out}'
    process = subprocess.Popen(
        ["/bin/bash", "-c", line, "browser", PROGRAM or "", *_FLAGS, f"--user-data-dir={home}/data"],
        pass_fds=(theirs_in, theirs_out),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={"PATH": os.environ["PATH"], "HOME": home, "TMPDIR": home, "LANG": "C.UTF-8"},
        start_new_session=True,
    )
    os.close(theirs_in)
    os.close(theirs_out)
    reader = asyncio.StreamReader(limit=1 << 26)
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(reader), os.fdopen(ours_in, "rb")
    )
    return process, reader, ours_out
