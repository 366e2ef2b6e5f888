"""A complete MCP client without an SDK: one file, the standard library only. Copy what you need.

Run it with flags of muxpilot: `python docs/examples/client.py --socket /tmp/example.sock`.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

REVISION = "2025-11-25"  # of the protocol
PROGRAM = shutil.which("muxpilot") or str(Path(sys.executable).with_name("muxpilot"))


class ProtocolError(Exception):
    """A JSON-RPC error: the request was wrong. `code` says how."""

    def __init__(self, error: dict[str, Any]) -> None:
        super().__init__(error["message"])
        self.code = error["code"]


class ToolFailed(Exception):
    """A tool says that it failed, and what to do. Show this text to the model."""


class Client:
    """A connection to muxpilot over stdio: one JSON-RPC message in each line."""

    def __init__(self, *flags: str) -> None:
        pipe = subprocess.PIPE
        self._process = subprocess.Popen([PROGRAM, *flags], stdin=pipe, stdout=pipe, text=True)
        self._last_id = 0
        about = {"name": "example", "version": "1"}
        self.request("initialize", protocolVersion=REVISION, capabilities={}, clientInfo=about)
        self._send(method="notifications/initialized")

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request, and return its result."""
        self._last_id += 1
        self._send(id=self._last_id, method=method, params=params)
        while True:
            message = self._receive()
            if "method" in message:
                self._handle(message)
            elif "error" in message:
                raise ProtocolError(message["error"])
            elif message["id"] == self._last_id:
                return dict(message["result"])

    def call(self, tool: str, **arguments: Any) -> Any:
        """Call a tool, and return its data, or its text where it has no data."""
        result = self.request("tools/call", name=tool, arguments=arguments)
        text = "".join(block.get("text", "") for block in result["content"])
        if result.get("isError"):
            raise ToolFailed(text)
        return result.get("structuredContent", text)

    def close(self) -> None:
        """End muxpilot. Panes, and the commands in them, go on."""
        self._process.communicate()

    def _handle(self, message: dict[str, Any]) -> None:
        """Answer a request of the server. Notifications need no answer."""
        if message["method"] == "ping":
            self._send(id=message["id"], result={})
        elif "id" in message:
            self._send(id=message["id"], error={"code": -32601, "message": "not supported"})

    def _send(self, **message: Any) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps({"jsonrpc": "2.0", **message}) + "\n")
        self._process.stdin.flush()

    def _receive(self) -> dict[str, Any]:
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        if not line:
            raise ConnectionError("muxpilot has ended; its stderr says why")
        return dict(json.loads(line))


def main() -> None:
    client = Client(*sys.argv[1:])
    done = client.call("execute-command", command="echo hello; (exit 3)")
    print(done["status"], done["exitCode"], done["output"], end="")
    begun = client.call("execute-command", command="sleep 1; echo later", waitMs=0)
    done = client.call("get-command-result", commandId=begun["commandId"], waitMs=20_000)
    print(done["status"], done["exitCode"], done["output"], end="")
    try:
        client.call("capture-pane", paneId="%99")
    except ToolFailed as failure:
        print(failure)
    try:
        client.call("no-such-tool")
    except ProtocolError as error:
        print(error.code)
    client.call("kill-pane", paneId="main")
    client.close()


if __name__ == "__main__":
    main()
