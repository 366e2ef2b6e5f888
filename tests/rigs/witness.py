"""Commands whose course is known from files: whether each has begun and ended, how often, in which order.

A command appends its number to one file when it begins and to another when it ends. What a muxpilot says
about the command can then be compared with what happened.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import count
from pathlib import Path

_LINES = 33_334  # of nine bytes each: 300 kB
# The statuses after which nothing changes any more.
FINAL = frozenset({"completed", "failed", "lost", "cancelled"})
# How a reason says that a command has not run. Such a command must be in no file.
_NOT_RUN = ("not run", "never run", "never ran", "did not run", "not typed", "never typed")


@dataclass(frozen=True, slots=True)
class Kind:
    """What the commands of one kind do. `{n}` is the command's number."""

    body: str
    output: Callable[[int], str]
    last: str = ""  # a command after the end has been noted: it gives the exit code
    exit_code: int = 0
    joint: str = "; "


def _first(number: int) -> int:
    return 10_000_000 + 1000 * number


def _numbers(number: int) -> str:
    return "".join(f"{line}\n" for line in range(_first(number), _first(number) + _LINES))


# Every command line is the same in bash, zsh, fish, dash, ksh, mksh and busybox.
KINDS = {
    "quick": Kind("echo quick-{n}", lambda n: f"quick-{n}\n"),
    "silent": Kind("true", lambda n: ""),
    "slow": Kind("echo slow-{n}; sleep 0.4; echo done-{n}", lambda n: f"slow-{n}\ndone-{n}\n"),
    "big": Kind("seq {first} {final}", _numbers),
    "lines": Kind("echo one-{n}\necho two-{n}", lambda n: f"one-{n}\ntwo-{n}\n", joint="\n"),
    "fails": Kind("echo fails-{n}", lambda n: f"fails-{n}\n", last="sh -c 'exit 3'", exit_code=3),
    "exits": Kind("echo leaves-{n}", lambda n: f"leaves-{n}\n", last="exit 7", exit_code=7),
    "leaves late": Kind("sleep 0.3; echo late-{n}", lambda n: f"late-{n}\n", last="exit 9", exit_code=9),
}
ENDS_THE_SHELL = frozenset({"exits", "leaves late"})


@dataclass(frozen=True, slots=True)
class WitnessedCommand:
    """One command, and what is to be told of it after it has run."""

    number: int
    kind: str
    pane: str
    text: str
    output: str
    exit_code: int

    @property
    def status(self) -> str:
        return "failed" if self.exit_code else "completed"

    def is_told_by(self, answer: dict[str, object]) -> bool:
        output = str(answer["output"])
        if self.kind in ENDS_THE_SHELL:
            output = output.removesuffix("logout\n")  # a login shell of bash says so
        told = (answer["status"], answer["exitCode"], output, answer["outputTruncated"])
        return told == (self.status, self.exit_code, self.output, False)


class Witness:
    """The two files, and the commands that write to them."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir()
        self._begun = folder / "b"
        self._ended = folder / "e"
        self._numbers = count(1)

    def make_command(self, kind: str, pane: str) -> WitnessedCommand:
        number, shape = next(self._numbers), KINDS[kind]
        body = shape.body.format(n=number, first=_first(number), final=_first(number) + _LINES - 1)
        steps = [f"echo {number} >>{self._begun}", body, f"echo {number} >>{self._ended}", shape.last]
        text = shape.joint.join(step for step in steps if step)
        return WitnessedCommand(number, kind, pane, text, shape.output(number), shape.exit_code)

    def begun(self) -> list[int]:
        """Return the numbers of the commands that have begun, in that order."""
        return _read_numbers(self._begun)

    def ended(self) -> list[int]:
        return _read_numbers(self._ended)


def _read_numbers(path: Path) -> list[int]:
    return [int(line) for line in path.read_text().split()] if path.exists() else []


def find_untruth(
    command: WitnessedCommand, answer: dict[str, object], *, begun: int, ended: int
) -> str | None:
    """Return what is wrong with a command's final answer, given how often it has begun and ended."""
    if begun > 1:
        return f"ran {begun} times"
    status, reason = answer["status"], str(answer.get("reason") or "")
    if status in {"completed", "failed"}:
        if (begun, ended) != (1, 1):
            return f"told as {status}, but began {begun} and ended {ended} times"
        return None if command.is_told_by(answer) else _describe_difference(command, answer)
    if status != "lost":
        return f"told as {status}"
    if not reason:
        return "lost without a reason"
    if begun and any(words in reason for words in _NOT_RUN):
        return f"ran, but is lost with the reason {reason!r}"
    return None


def _describe_difference(command: WitnessedCommand, answer: dict[str, object]) -> str:
    output = str(answer["output"])
    told = f"{answer['status']}, exit code {answer['exitCode']}, truncated {answer['outputTruncated']}"
    if output == command.output:
        return f"told as {told}"
    at = next(
        (at for at, pair in enumerate(zip(output, command.output, strict=False)) if pair[0] != pair[1]),
        min(len(output), len(command.output)),
    )
    return (
        f"told as {told}; {len(output)} of {len(command.output)} characters, from {at} on "
        f"{output[at : at + 60]!r} instead of {command.output[at : at + 60]!r}"
    )


def find_repeated(begun: Sequence[int]) -> list[int]:
    return [number for number, times in Counter(begun).items() if times > 1]


def find_disorder(listed: Sequence[WitnessedCommand], begun: Sequence[int]) -> list[str]:
    """Return the panes where the commands did not begin in the order of the list."""
    wrong = []
    for pane in {command.pane for command in listed}:
        wanted = [command.number for command in listed if command.pane == pane and command.number in begun]
        ran = [number for number in begun if number in set(wanted)]
        if ran != wanted:
            wrong.append(f"{pane}: listed {wanted}, ran {ran}")
    return wrong
