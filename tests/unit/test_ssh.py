"""How another host is reached: what is taken as a destination, what ssh gets, what the far shell reads."""

from __future__ import annotations

import os
import shutil
import subprocess

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muxpilot.errors import BadInput, NoServer, NoTmux, Unreachable
from muxpilot.servers import Named, Servers
from muxpilot.tmux.ssh import _MARK, FarEndpoint, Route, identity


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


def test_a_bad_route_is_told_at_the_start_with_its_key() -> None:
    with pytest.raises(BadInput, match=r"servers\.b\.ssh: .*unbalanced"):
        Servers("/tmp/mx-none/s", named={"b": Named(ssh="x 'y")})


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
    assert line.count(b"\n") == 1
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


@given(st.lists(st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])), max_size=4))
def test_any_text_arrives_as_it_was(far: FarEndpoint, words: list[str]) -> None:
    expected = [f"{word[:-1]}\\;" if word.endswith(";") else word for word in words]
    assert arguments(far, "/bin/sh", "x", *words)[5:] == expected


MARK = _MARK.decode()


@pytest.mark.parametrize(
    ("words", "error", "told"),
    [
        ("ssh: connect to host b port 22: No route to host", Unreachable, "b cannot be reached"),
        ("me@b: Permission denied (publickey,password).", Unreachable, "without a question"),
        ("Host key verification failed.", Unreachable, "is not known"),
        ("", Unreachable, "without a word"),
        (f"welcome\n{MARK}\nno server running on /tmp/x", NoServer, "No tmux server"),
        (f"{MARK}\n/bin/sh: 1: exec: tmux: not found", NoTmux, "no tmux on b"),
        (f"{MARK}\n/bin/sh: line 1: exec: tmux: not found", NoTmux, "no tmux on b"),
    ],
    ids=str.split("no-route denied unknown-host nothing no-server no-tmux no-tmux-in-bash"),
)
def test_what_is_said_on_the_way_out_becomes_an_error(words: str, error: type[Exception], told: str) -> None:
    found = FarEndpoint.to("b").failure(words)
    assert isinstance(found, error)
    assert told in str(found)
