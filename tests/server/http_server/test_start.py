"""Start-up errors of the HTTP server: addresses and token files."""

from __future__ import annotations

import asyncio
import socket as sockets
import sys
from pathlib import Path

import pytest

from tests.rigs.http_server import TOKEN, initialize_request, serving_http
from tests.rigs.wire import LIMIT_S, Place, command, environment

pytestmark = pytest.mark.asyncio(loop_scope="module")


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["--http", "8722"], "is not HOST:PORT"),
        (["--http", "localhost:"], "is not HOST:PORT"),
        (["--http", "localhost:70000"], "is not HOST:PORT"),
        (["--http", "::1:80"], "is not HOST:PORT"),
        (["--http", ":80"], "is not HOST:PORT"),
        (["--http", "no.such.host.invalid:0"], "does not resolve"),
        (["--http", "0.0.0.0:0"], "would be reachable from other machines"),
        (["--http", "[::]:0"], "--http [::]:0 would be reachable from other machines"),
        (["--http-token-file", "x"], "without --http"),
        (["--http-workers", "2"], "--http-workers is given without --http"),
        (["--http", "127.0.0.1:0", "--http-workers", "0"], "'0' is not a number from 1 to 32"),
        (["--http", "127.0.0.1:0", "--http-workers", "33"], "'33' is not a number from 1 to 32"),
        (["--http", "127.0.0.1:0", "--http-workers", "two"], "'two' is not a number from 1 to 32"),
        (["--http", "127.0.0.1:0", "--http-workers="], "'' is not a number from 1 to 32"),
        (["--http", "127.0.0.1:0", "--http-workers", "2", "--config", "{folder}/policy"], "is not a pattern"),
        (["--http", "127.0.0.1:0", "--http-token-file", "{folder}/none"], "cannot be read"),
        (["--http", "127.0.0.1:0", "--http-token-file", "{folder}"], "is not a regular file"),
        (["--http", "127.0.0.1:0", "--http-token-file", "{folder}/open"], "can be read by others"),
        (["--http", "127.0.0.1:0", "--http-token-file", "{folder}/read"], "can be read by others"),
        (["--http", "127.0.0.1:0", "--http-token-file", "{folder}/link"], "can be read by others"),
        (["--http", "127.0.0.1:0", "--http-token-file", "{folder}/short"], "visible ASCII characters"),
        (["--http", "127.0.0.1:0", "--http-token-file", "{folder}/two"], "visible ASCII characters"),
    ],
)
async def test_what_is_wrong_is_said_at_the_start(folder: Path, args: list[str], words: str) -> None:
    files = {"open": (TOKEN, 0o640), "read": (TOKEN, 0o604), "short": ("x" * 15, 0o600)}
    for name, (text, mode) in (files | {"two": ("x " * 20, 0o600)}).items():
        (folder / name).write_text(text)
        (folder / name).chmod(mode)
    (folder / "link").symlink_to(folder / "open")
    (folder / "policy").write_text("security.command_filter = {mode = 'denylist', patterns = ['(']}\n")
    code, said = await start_and_fail(folder, *(arg.format(folder=folder) for arg in args))
    assert code == 2
    assert words in said
    assert said.count("\n") == 1


@pytest.mark.parametrize("workers", [[], ["--http-workers", "2"]])
async def test_a_port_that_is_taken_is_said_at_the_start(folder: Path, workers: list[str]) -> None:
    with sockets.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        code, said = await start_and_fail(folder, "--http", f"127.0.0.1:{port}", *workers)
    assert code == 2
    assert "cannot be listened on: Address already in use" in said


async def test_an_address_of_ipv6_is_served_and_told(place: Place) -> None:
    with sockets.socket(sockets.AF_INET6) as probe:
        try:
            probe.bind(("::1", 0))
        except OSError:
            pytest.skip("no IPv6 here")
    async with serving_http(place, "--http", "[::1]:0") as (web, _):
        assert web.url.startswith("http://[::1]:")
        assert (await web.post(initialize_request())).status_code == 200
        assert (await web.post(initialize_request(), host="evil.example")).status_code == 421


async def test_with_a_token_other_machines_may_connect_and_by_any_name(place: Place) -> None:
    async with serving_http(place, "--http", "0.0.0.0:0", token=TOKEN) as (web, _):
        assert (await web.post(initialize_request(), host="build.example")).status_code == 200
        assert (
            await web.post(initialize_request(), host="build.example", authorization="")
        ).status_code == 401
        assert (await web.post(initialize_request(), origin="http://build.example")).status_code == 403


async def start_and_fail(folder: Path, *args: str) -> tuple[int, str]:
    pipe = asyncio.subprocess.PIPE
    variables = environment(folder) | {"RES_OPTIONS": "timeout:1 attempts:1"}  # whatever resolver there is
    process = await asyncio.create_subprocess_exec(
        *command(*args), stdin=asyncio.subprocess.DEVNULL, stdout=pipe, stderr=pipe, env=variables
    )
    out, said = await asyncio.wait_for(process.communicate(), LIMIT_S)
    assert out == b""
    assert process.returncode is not None
    return process.returncode, said.decode()


@pytest.mark.parametrize("args", [["--http", "127.0.0.1:0"], ["view"]])
@pytest.mark.parametrize("missing", ["uvicorn", "httptools"])
async def test_what_must_be_installed_for_http_is_said_at_the_start(
    folder: Path, missing: str, args: list[str]
) -> None:
    program = (
        f"import sys; sys.modules[{missing!r}] = None\n"
        f"from muxpilot.cli.main import main; sys.exit(main({args!r}))"
    )
    pipe = asyncio.subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-c", program), stdout=pipe, stderr=pipe, env=environment(folder)
    )
    _, said = await asyncio.wait_for(process.communicate(), LIMIT_S)
    assert process.returncode == 2
    assert said.decode().splitlines() == [
        "muxpilot: HTTP needs the packages uvicorn and httptools. Install them with muxpilot: muxpilot[http]."
    ]
