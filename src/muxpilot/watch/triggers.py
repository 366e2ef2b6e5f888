"""What a watch waits for: one row per trigger, and how a list of them is read."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from muxpilot.errors import BadInput
from muxpilot.records import record
from muxpilot.watch.line_matcher import Finder
from muxpilot.watch.urls import LOOPBACK_ONLY, Address, address

ARGUMENT = "triggers"

# The words of an error, in any case; FAIL only as a word of its own and in capitals: "failover" is none.
ERROR_WORDS = r"(?i:error[:\s]|fatal|panic|exception|failed)|\bFAIL\b"


@record
class Trigger:
    """One thing to wait for; `word` is how it was asked for, and the event that is told."""

    word: str
    name: str
    number: float = 0.0
    text: str = ""
    finder: Finder | None = None
    address: Address | None = None
    is_readiness: bool = False


def readiness(pattern: str) -> Trigger:
    """The pattern of a command that is started: told as a pattern trigger, and the first in the list."""
    if not pattern:
        raise BadInput("The argument 'pattern' is empty.", "Give a line that says that it is ready.")
    finder = Finder(pattern, "pattern")
    return Trigger(f"pattern:{pattern}", "pattern", text=pattern, finder=finder, is_readiness=True)


# From what stands behind the colon to a trigger. `hosts` are those that a url may name besides this one.
Reader = Callable[[str, str, str, tuple[str, ...]], Trigger]


def _plain(word: str, name: str, text: str, hosts: tuple[str, ...]) -> Trigger:
    if word != name:
        raise BadInput(f"The trigger {word[:60]!r} takes no value.", f"Write {name!r}.")
    return Trigger(word, name)


def _number(low: float, high: int, what: str, *, example: int, is_whole: bool) -> Reader:
    digits = r"\d{1,9}" if is_whole else r"\d{1,9}(\.\d{1,6})?"

    def read(word: str, name: str, text: str, hosts: tuple[str, ...]) -> Trigger:
        if not re.fullmatch(digits, text, re.ASCII) or not low <= float(text) <= high:
            raise BadInput(
                f"The trigger {word[:60]!r} needs {what} from {low} to {high}.", f"Write {name}:{example}."
            )
        return Trigger(word, name, number=float(text))

    return read


def _errors(word: str, name: str, text: str, hosts: tuple[str, ...]) -> Trigger:
    _plain(word, name, text, hosts)
    return Trigger(word, name, finder=Finder(ERROR_WORDS, ARGUMENT))


def _pattern(word: str, name: str, text: str, hosts: tuple[str, ...]) -> Trigger:
    if not text:
        raise BadInput(f"The trigger {word!r} has no pattern.", "Write pattern:REGEX.")
    return Trigger(word, name, text=text, finder=Finder(text, word[:200]))


def _url(word: str, name: str, text: str, hosts: tuple[str, ...]) -> Trigger:
    return Trigger(word, name, text=text, address=address(text, hosts))


def _file(word: str, name: str, text: str, hosts: tuple[str, ...]) -> Trigger:
    if not text or "\0" in text:
        raise BadInput(f"The trigger {word[:60]!r} names no file.", "Write file:PATH.")
    return Trigger(word, name, text=text)


_DAY_S = 86_400
_MOST = 32
TRIGGERS: dict[str, Reader] = {
    "exit": _plain,
    "shell": _plain,
    "user_input": _plain,
    "password": _plain,
    "error": _errors,
    "bell": _plain,
    "idle": _number(0.01, _DAY_S, "a number of seconds", example=5, is_whole=False),
    "pattern": _pattern,
    "port": _number(1, 65_535, "a port", example=8000, is_whole=True),
    "url": _url,
    "file": _file,
    "change": _plain,
    "quiet": _number(1, 1000 * _DAY_S, "a number of milliseconds", example=500, is_whole=True),
}

# Their values may hold anything, commas too.
_FREE = ("pattern", "url", "file")
_NEXT = re.compile(rf",\s*(?=(?:{'|'.join(TRIGGERS)})\s*(?:[:,]|\Z))")


def parse(given: str | Sequence[str], *, hosts: tuple[str, ...] = LOOPBACK_ONLY) -> tuple[Trigger, ...]:
    """The triggers of a list, one each, or of a text that has commas between them."""
    words = _split(given) if isinstance(given, str) else list(given)
    if not words:
        raise BadInput(f"The argument {ARGUMENT!r} names nothing to wait for.", _known())
    if len(words) > _MOST:
        raise BadInput(f"The argument {ARGUMENT!r} has {len(words)} triggers.", f"Use at most {_MOST}.")
    return tuple(_read(word.strip(), hosts) for word in words)


def _split(text: str) -> list[str]:
    """At commas before a known name: any other comma belongs to a value that may hold one."""
    words: list[str] = []
    for part in _NEXT.split(text):
        words += [part] if part.strip().partition(":")[0] in _FREE else part.split(",")
    return [word for word in words if word.strip()]


def _read(word: str, hosts: tuple[str, ...]) -> Trigger:
    name, _, text = word.partition(":")
    read = TRIGGERS.get(name)
    if read is None:
        raise BadInput(f"{word[:60]!r} in the argument {ARGUMENT!r} is not a trigger.", _known())
    return read(word, name, text, hosts)


def _known() -> str:
    values = {"idle": "idle:N", "pattern": "pattern:REGEX", "port": "port:N", "url": "url:URL"}
    values |= {"file": "file:PATH", "quiet": "quiet:MS"}
    return f"Use some of: {', '.join(values.get(name, name) for name in TRIGGERS)}."
