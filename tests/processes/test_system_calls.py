"""What a thread waits for, from files of /proc that the test invents."""

from __future__ import annotations

import struct
from dataclasses import dataclass, field

import pytest

from muxpilot.processes import system_calls
from muxpilot.processes.facts import BlockedOn, WaitKind
from muxpilot.processes.proc import ProcessStat, ProcReader, TerminalDevice
from muxpilot.processes.system_calls import find_wait, system_call_names

HERE = TerminalDevice(1, None)
STACK = 0x7FFC00000000
ARGUMENTS = {"read": (0, 0, 64), "poll": (0x1000, 2, 0), "select": (3, 0x2000, 0), "epoll": (9, 0, 0)}
POLLS = "poll_schedule_timeout.constprop.0"


@dataclass
class InventedProc(ProcReader):
    """Descriptor 0 is the terminal; poll, select and epoll watch it where `watches` says so."""

    number: int | None = None
    arguments: tuple[int, int, int] = (0, 0, 0)
    stack: int = STACK
    is_hidden: bool = False
    function: str = ""
    state: str = "S"
    watches: int = 0
    links: dict[int, str] = field(default_factory=dict)

    def system_call(self, pid: int, thread: int) -> list[int] | None:
        if self.is_hidden:
            raise PermissionError
        return None if self.number is None else [self.number, *self.arguments, 0, 0, 0, self.stack, 0]

    def kernel_function(self, pid: int, thread: int) -> str:
        return self.function

    def stat(self, pid: int) -> ProcessStat:
        return ProcessStat(pid, "prog", self.state)

    def memory(self, pid: int, address: int, size: int) -> bytes:
        if self.is_hidden:
            raise PermissionError
        if address == 0x1000:
            return struct.pack("=ihhihh", 5, 1, 0, self.watches, 1, 0)
        return (1 << self.watches).to_bytes(8, "little")

    def epoll_targets(self, pid: int, descriptor: int) -> list[tuple[int, int]]:
        return [(5, 0x19), (self.watches, 0x19)]

    def open_files(self, pid: int) -> dict[int, str]:
        return self.links

    def is_terminal(self, pid: int, descriptor: int, terminal: TerminalDevice) -> bool:
        return descriptor == 0


@pytest.mark.parametrize("machine", ["x86_64", "aarch64"])
@pytest.mark.parametrize("name", ARGUMENTS)
def test_a_call_on_the_terminal_is_told_from_one_on_something_else(
    monkeypatch: pytest.MonkeyPatch, machine: str, name: str
) -> None:
    numbers = system_call_names(machine)
    monkeypatch.setattr(system_calls, "_NAMES", numbers)
    arguments = ARGUMENTS[name]
    elsewhere = (5, *arguments[1:]) if name == "read" else arguments
    wanted = WaitKind.READS if name == "read" else WaitKind.POLLS
    found = [number for number, its_name in numbers.items() if its_name == name]
    assert found
    for number in found:
        assert find_wait(InventedProc(number, arguments), 1, 1, HERE).wait is wanted
        assert find_wait(InventedProc(number, elsewhere, watches=2), 1, 1, HERE).wait is WaitKind.ELSEWHERE


def test_the_numbers_are_those_of_the_machines() -> None:
    assert {system_call_names("x86_64")[number] for number in (0, 7, 271, 23, 270, 232, 281, 441)} == set(
        ARGUMENTS
    )
    assert {system_call_names("aarch64")[number] for number in (63, 73, 72, 22, 441)} == set(ARGUMENTS)
    assert system_call_names("arm64") == system_call_names("aarch64")
    assert system_call_names("vax") == {}


def find_wait_with(**facts: object) -> BlockedOn:
    proc = InventedProc()
    for name, value in facts.items():
        setattr(proc, name, value)
    return find_wait(proc, 1, 1, HERE)


@pytest.fixture
def on_x86(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(system_calls, "_NAMES", system_call_names("x86_64"))


@pytest.mark.usefixtures("on_x86")
def test_what_a_read_asks_for_is_kept() -> None:
    assert find_wait_with(number=0, arguments=(0, 0, 8192)) == BlockedOn(WaitKind.READS, 8192)


@pytest.mark.usefixtures("on_x86")
@pytest.mark.parametrize("number", [61, 202, 230, 35, -1])
def test_another_call_is_something_else(number: int) -> None:
    assert find_wait_with(number=number).wait is WaitKind.ELSEWHERE
    assert find_wait_with(number=None).wait is WaitKind.ELSEWHERE


@pytest.mark.usefixtures("on_x86")
def test_a_poll_that_was_stopped_and_went_on_is_still_a_poll() -> None:
    assert find_wait_with(number=219, arguments=ARGUMENTS["poll"], function=POLLS).wait is WaitKind.POLLS
    assert find_wait_with(number=219, function="hrtimer_nanosleep").wait is WaitKind.ELSEWHERE


@pytest.mark.usefixtures("on_x86")
def test_the_numbers_of_a_32_bit_program_are_not_taken_for_ours() -> None:
    assert (
        find_wait_with(number=3, stack=0xFFD00000, function="n_tty_read", links={0: "/dev/tty"}).wait
        is WaitKind.READS
    )
    assert find_wait_with(number=0, stack=0xFFD00000, function="hrtimer_nanosleep").wait is WaitKind.ELSEWHERE


EPOLL = {4: "anon_inode:[eventpoll]"}


@pytest.mark.parametrize(
    ("function", "links", "watches", "wanted"),
    [
        ("n_tty_read", {0: "/dev/pts/1"}, 0, WaitKind.READS),
        ("n_tty_read", {3: "/dev/pts/2"}, 0, WaitKind.ELSEWHERE),
        ("wait_woken", {0: "/dev/pts/1"}, 0, WaitKind.READS),
        ("wait_woken", {0: "/dev/pts/1", 3: "socket:[1]"}, 0, WaitKind.MAY_READ),
        (POLLS, {}, 0, WaitKind.MAY_POLL),
        ("do_select", {}, 0, WaitKind.MAY_POLL),
        ("do_epoll_wait", EPOLL, 0, WaitKind.POLLS),
        ("ep_poll", EPOLL, 5, WaitKind.ELSEWHERE),
        ("do_epoll_wait", {}, 0, WaitKind.ELSEWHERE),
        ("hrtimer_nanosleep", {}, 0, WaitKind.ELSEWHERE),
        ("do_wait", {}, 0, WaitKind.ELSEWHERE),
        ("", {}, 0, WaitKind.HIDDEN),
    ],
)
def test_where_calls_are_hidden_the_kernels_function_tells_less(
    function: str, links: dict[int, str], watches: int, wanted: WaitKind
) -> None:
    assert find_wait_with(is_hidden=True, function=function, links=links, watches=watches).wait is wanted


def test_a_thread_that_runs_hides_nothing() -> None:
    assert find_wait_with(is_hidden=True, state="R").wait is WaitKind.ELSEWHERE
