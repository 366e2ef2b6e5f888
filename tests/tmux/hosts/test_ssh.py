"""How another host is reached: what is taken as a destination, what ssh gets, what the far shell reads."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muxpilot.config import settings
from muxpilot.errors import BadInput, NoServer, NoTmux, Unreachable
from muxpilot.tmux.hosts.ssh import _MARK, FarEndpoint, Route, identity
from muxpilot.tmux.servers import Named, Servers


@pytest.mark.parametrize(
    ("text", "options", "destination"),
    [
        ("build", (), "build"),
        ("me@build.example.org", (), "me@build.example.org"),
        ("-p 2222 -i ~/.ssh/key build", ("-p", "2222", "-i", "~/.ssh/key"), "build"),
        ("-4Cp2222 build", ("-4Cp2222",), "build"),
        ("-o 'ProxyCommand=nc %h %p' build", ("-o", "ProxyCommand=nc %h %p"), "build"),
        ("-J a,b ssh://me@build:22", ("-J", "a,b"), "ssh://me@build:22"),
        ("[::1]", (), "[::1]"),
        ("-6 me@::1", ("-6",), "me@::1"),
        ("fe80::1%eth0", (), "fe80::1%eth0"),
        ("-T me@corp.example@build", ("-T",), "me@corp.example@build"),
    ],
)
def test_options_and_a_destination_are_taken(text: str, options: tuple[str, ...], destination: str) -> None:
    route = Route.parse(text)
    assert (route.options, route.destination) == (options, destination)
    argv = route.argv()
    assert argv[-3:-1] == ["--", destination]
    assert argv.index("BatchMode=yes") < argv.index("ConnectTimeout=8")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("build 'x", "unbalanced quote"),
        ("", "no ssh destination"),
        ("-oProxyCommand=touch${IFS}x", "no ssh destination"),
        ("-p 22 -oProxyCommand=id", "no ssh destination"),
        ("a;b", "no ssh destination"),
        ("$(id)", "no ssh destination"),
        ("me@-x", "no ssh destination"),
        ("other build", "stands before"),
        ("-t build", "'-t' is of no use"),
        ("-f build", "'-f' is of no use"),
        ("-L 1:b:2 build", "'-L' is of no use"),
        ("-p build", "lacks its value"),
        ("'a\nb'", "no ssh destination"),
    ],
)
def test_what_could_be_something_else_is_refused(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        Route.parse(text)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (Named(ssh="x 'y"), r"f:1: servers\.b\.ssh: .*unbalanced"),
        (Named(ssh=""), r"f:1: servers\.b\.ssh: .*no ssh destination"),
        (Named(ssh="x", socket=""), r"f:1: servers\.b\.socket: .*not a socket path"),
        (Named(ssh="x", socket="a\nb"), r"f:1: servers\.b\.socket: .*not a socket path"),
        (Named(socket=""), r"f:1: servers\.b\.socket: .*not a socket path"),
    ],
    ids=str,
)
def test_a_bad_server_is_told_at_the_start_with_its_key(entry: Named, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        Servers("/tmp/mx-none/s", named={"b": entry}, where=lambda key: f"f:1: {key}")


def test_a_bad_default_is_told_at_the_start() -> None:
    with pytest.raises(BadInput, match=r"^The ssh destination .* unbalanced"):
        Servers(ssh="x 'y")
    with pytest.raises(BadInput, match="no ssh destination"):
        Servers(ssh="")
    with pytest.raises(BadInput, match="--ssh is empty"):
        settings({}, ssh="")
    assert settings({"TMUX_MCP_SSH": ""}).ssh is None


def test_a_name_is_a_server_and_another_word_is_none() -> None:
    servers = Servers("/tmp/mx-none/s", named={"b": Named("/tmp/mx-none/b")})
    assert servers.get("b") is servers.get("/tmp/mx-none/b")
    assert servers.get("default") is servers.default
    for word in ("c", "B", "b ", "..", "mx-none"):
        with pytest.raises(BadInput, match="no server has that name"):
            servers.get(word)


def test_two_ways_to_one_host_are_two_servers() -> None:
    assert len({identity("b", None), identity("-p 1 b", None), identity("b", "/s")}) == 3
    assert identity("-p  1   b", None) == identity("-p 1 b", None)


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> FarEndpoint:
    """A program in place of tmux that prints its arguments."""
    program = tmp_path_factory.mktemp("far") / "it's tmux"
    program.write_text("#!/bin/sh\nfor word; do printf '%s\\0' \"$word\"; done\n")
    program.chmod(0o755)
    return FarEndpoint.to("b", "~/a b", binary=str(program))


def arguments(far: FarEndpoint, shell: str, *command: str) -> list[str]:
    """What arrives on the other side, where this is the login shell."""
    line = far.preamble("-N", commands=(command,))
    assert line.count(b"\n") == 2
    done = subprocess.run(
        [shell, "-c", far.route.argv()[-1]],
        input=line,
        capture_output=True,
        check=True,
        timeout=20,
        env={"PATH": os.environ["PATH"], "HOME": "/the home"},
    )
    return far.received(done.stdout, done.stderr)[0].decode().split("\0")[:-1]


@pytest.mark.parametrize("shell", ["sh", "bash", "zsh", "fish", "mksh", "ksh93", "tcsh"])
def test_every_word_arrives_as_it_was_whatever_the_login_shell(far: FarEndpoint, shell: str) -> None:
    found = shutil.which(shell)
    if found is None:
        pytest.skip(f"no {shell} here")
    words = (
        "a b",
        "it's",
        '"$HOME"',
        "`id`",
        "$(id)",
        "\\n\\",
        "two\nlines\n",
        "!x",
        "é 😀",
        "",
        "#",
        "-x",
        "*",
    )
    assert arguments(far, found, *words) == ["-u", "-S", "/the home/a b", "-N", *words]


@pytest.mark.timeout(180)  # a hundred times three shells
@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=4))
def test_any_text_arrives_as_it_was(far: FarEndpoint, words: list[str]) -> None:
    expected = [f"{word[:-1]}\\;" if word.endswith(";") else word for word in words]
    assert arguments(far, "/bin/sh", "x", *words)[5:] == expected


MARK = _MARK.decode()


@pytest.mark.parametrize(
    ("words", "error", "told"),
    [
        ("ssh: connect to host b port 22: No route to host", Unreachable, "b cannot be reached"),
        ("ssh: no host j\nclosed by UNKNOWN", Unreachable, "ssh: no host j; closed by UNKNOWN"),
        ("me@b: Permission denied (publickey,password).", Unreachable, "without a question"),
        ("Host key verification failed.", Unreachable, "is not known"),
        ("", Unreachable, "without a word"),
        (f"welcome\n{MARK}\nno server running on /tmp/x", NoServer, "No tmux server"),
        (f"{MARK}\n/bin/sh: 1: exec: tmux: not found", NoTmux, "no tmux on b"),
        (f"{MARK}\n/bin/sh: line 1: exec: tmux: not found", NoTmux, "no tmux on b"),
    ],
    ids=str.split("no-route jump denied unknown-host nothing no-server no-tmux no-tmux-in-bash"),
)
def test_what_is_said_on_the_way_out_becomes_an_error(words: str, error: type[Exception], told: str) -> None:
    found = FarEndpoint.to("b").failure(words)
    assert isinstance(found, error)
    assert told in str(found)
