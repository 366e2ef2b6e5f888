"""How another host is reached: which destinations are valid, and what ssh and the remote shell receive."""

from __future__ import annotations

import os
import shutil
import subprocess
from string import ascii_lowercase

import pytest
from hypothesis import given
from hypothesis import strategies as st

from muxpilot.config.flags import load_settings
from muxpilot.errors import BadInput, NoServer, NoTmux, Unreachable
from muxpilot.tmux.hosts.far import FarEndpoint
from muxpilot.tmux.hosts.ssh import SshRoute
from muxpilot.tmux.servers import ServerAddress, TmuxServers

FIRST = ascii_lowercase[:19]  # with the default server, as many as an error names


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
    route = SshRoute.parse(text)
    assert (route.options, route.destination) == (options, destination)
    argv = route.argv()
    assert argv[-3:-1] == ["--", destination]
    assert argv.index("BatchMode=yes") < argv.index("ConnectTimeout=8")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("build 'x", "unbalanced quote"),
        ("", "is not an ssh destination"),
        ("-oProxyCommand=touch${IFS}x", "is not an ssh destination"),
        ("-p 22 -oProxyCommand=id", "is not an ssh destination"),
        ("a;b", "is not an ssh destination"),
        ("$(id)", "is not an ssh destination"),
        ("me@-x", "is not an ssh destination"),
        ("other build", "is before the ssh destination"),
        ("-t build", "'-t' is not supported"),
        ("-f build", "'-f' is not supported"),
        ("-L 1:b:2 build", "'-L' is not supported"),
        ("-p build", "needs a value"),
        ("'a\nb'", "is not an ssh destination"),
    ],
)
def test_what_could_be_something_else_is_refused(text: str, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        SshRoute.parse(text)


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (ServerAddress(ssh="x 'y"), r"f:1: servers\.b\.ssh: .*unbalanced"),
        (ServerAddress(ssh=""), r"f:1: servers\.b\.ssh: .*not an ssh destination"),
        (ServerAddress(ssh="x", socket=""), r"f:1: servers\.b\.socket: .*not a socket path"),
        (ServerAddress(ssh="x", socket="a\nb"), r"f:1: servers\.b\.socket: .*not a socket path"),
        (ServerAddress(socket=""), r"f:1: servers\.b\.socket: .*not a socket path"),
    ],
    ids=str,
)
def test_a_bad_server_is_told_at_the_start_with_its_key(entry: ServerAddress, words: str) -> None:
    with pytest.raises(BadInput, match=words):
        TmuxServers("/tmp/mx-none/s", addresses={"b": entry}, locate_key=lambda key: f"f:1: {key}")


def test_a_bad_default_is_told_at_the_start() -> None:
    with pytest.raises(BadInput, match=r"^The ssh destination .* unbalanced"):
        TmuxServers(ssh="x 'y")
    with pytest.raises(BadInput, match="is not an ssh destination"):
        TmuxServers(ssh="")
    with pytest.raises(BadInput, match="--ssh is empty"):
        load_settings({}, ssh="")
    assert load_settings({"TMUX_MCP_SSH": ""}).ssh is None


def test_a_name_is_a_server_and_another_word_is_none() -> None:
    servers = TmuxServers("/tmp/mx-none/s", addresses={"b": ServerAddress("/tmp/mx-none/b")})
    assert servers.get("b") is servers.get("/tmp/mx-none/b")
    assert servers.get("default") is servers.default
    for word in ("c", "B", "b ", "..", "mx-none"):
        with pytest.raises(BadInput, match="no server has that name"):
            servers.get(word)


@pytest.mark.parametrize(
    ("addresses", "hidden", "hint"),
    [
        ("bc", "", "Give one of: default, b, c; or the path of a socket."),
        ("bc", "b", "Give one of: default, c; or the path of a socket."),
        ("bc", "bcd", "Give the path of a socket."),
        (
            ascii_lowercase,
            "",
            f"Give one of: default, {', '.join('abcdefghijklmnopqrs')}, …; or the path of a socket.",
        ),
    ],
)
def test_the_error_of_an_unknown_name_names_the_servers_that_may_be_known(
    addresses: str, hidden: str, hint: str
) -> None:
    """Hide the servers whose sockets have one of the letters in `hidden`; that of the default one is d."""
    servers = TmuxServers(
        "/tmp/mx-none/d",
        addresses={name: ServerAddress(f"/tmp/mx-none/{name}") for name in addresses},
        is_visible=lambda socket: socket.rpartition("/")[2] not in hidden,
    )
    with pytest.raises(BadInput) as told:
        servers.get("other")
    assert str(told.value) == f"The argument 'socket' is 'other', and no server has that name. {hint}"


def test_a_server_on_another_host_is_found_by_its_identity() -> None:
    """muxpilot names it so when it asks its own policy."""
    addresses = {
        "far": ServerAddress("/tmp/mx-none/b", ssh=f"-p 1 -o X={'y' * 100} b"),
        "plain": ServerAddress(ssh="b"),
        "box": ServerAddress(exec_command="docker exec -i web"),
    }
    servers = TmuxServers("/tmp/mx-none/s", addresses=addresses)
    for name in addresses:
        assert servers.get(servers.get(name).socket) is servers.get(name)


def test_two_ways_to_one_host_are_two_servers() -> None:
    ways = (
        SshRoute.parse(text).identity(path) for text, path in (("b", None), ("-p 1 b", None), ("b", "/s"))
    )
    assert len(set(ways)) == 3
    assert SshRoute.parse("-p  1   b").identity(None) == SshRoute.parse("-p 1 b").identity(None)


@pytest.fixture(scope="module")
def far(tmp_path_factory: pytest.TempPathFactory) -> FarEndpoint:
    """An endpoint whose tmux is a program that prints its arguments."""
    program = tmp_path_factory.mktemp("far") / "it's tmux"
    program.write_text("#!/bin/sh\nfor word; do printf '%s\\0' \"$word\"; done\n")
    program.chmod(0o755)
    return FarEndpoint.by(SshRoute.parse("b"), "~/a b", binary=str(program))


def arguments(far: FarEndpoint, shell: str, *command: str) -> list[str]:
    """Return the arguments that the program receives where this is the login shell."""
    line = far.stdin_preamble("-N", commands=(command,))
    assert line.count(b"\n") == 2
    done = subprocess.run(
        [shell, "-c", far.route.argv()[-1]],
        input=line,
        capture_output=True,
        check=True,
        timeout=20,
        env={"PATH": os.environ["PATH"], "HOME": "/the home"},
    )
    return far.strip_banner(done.stdout, done.stderr)[0].decode().split("\0")[:-1]


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


BANNER_END = "<the end of the banner>"


@pytest.mark.parametrize(
    ("printed", "error", "text"),
    [
        ("ssh: connect to host b port 22: No route to host", Unreachable, "b cannot be reached"),
        ("ssh: no host j\nclosed by UNKNOWN", Unreachable, "ssh: no host j; closed by UNKNOWN"),
        ("me@b: Permission denied (publickey,password).", Unreachable, "requires interactive authentication"),
        ("Host key verification failed.", Unreachable, "is not trusted"),
        ("", Unreachable, "ssh exited without a message"),
        (f"welcome\n{BANNER_END}\nno server running on /tmp/x", NoServer, "No tmux server"),
        (f"{BANNER_END}\nmuxpilot: no tmux", NoTmux, "no tmux on b"),
    ],
    ids=str.split("no-route jump denied unknown-host nothing no-server no-tmux"),
)
def test_what_is_said_on_the_way_out_becomes_an_error(
    printed: str, error: type[Exception], text: str
) -> None:
    endpoint = FarEndpoint.by(SshRoute.parse("b"))
    found = endpoint.attach_error(printed.replace(BANNER_END, endpoint.banner_end.decode().rstrip("\n")))
    assert isinstance(found, error)
    assert text in str(found)
