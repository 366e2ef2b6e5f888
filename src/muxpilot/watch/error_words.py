"""Which lines report an error: they have an error word that the text around it does not take back.

A word counts unless the text before it or after it says that there is none (`0 failed`, `error: 0`), or that
it is a part of an address (`/log?state=failed`). RE2 finds the words in many lines at once. It cannot look
around a match, so the few bytes before and after a word are matched by themselves.
"""

from __future__ import annotations

from muxpilot.lazy_pattern import lazy_pattern
from muxpilot.patterns import compile_regex
from muxpilot.watch.line_matcher import LineMatch

# A word is not one if it is a part of a path or an identifier: /error, error_handler.py, non-fatal.
_WORD_BEGINS = r"(?:^|[^\w/\\.$-]|\.\.)"
_WORD_ENDS = r"(?:$|[^\w/\\.-]|\.(?:\W|$))"
# Words of an error, in any case. FAIL counts only in capitals: "fail" and "failover" are no errors. The name
# of an exception counts with its module and its prefix: json.decoder.JSONDecodeError.
_WORDS = (
    rf"{_WORD_BEGINS}((?i:error))[: \t]",
    rf"{_WORD_BEGINS}((?i:fatal|panic|panics|panicked|exceptions?|failed)|FAIL){_WORD_ENDS}",
    r"(?:^|[^\w/\\$-])((?:[A-Z]\w*)?(?:Error|Exception))[: \t]",
    r"(?:^|[^\w/\\$-])((?:[A-Z]\w*)?Exception)$",
)

_COUNTED_KINDS = (
    "fatal|critical|serious|syntax|type|lint|compile|compilation|build|runtime|internal|test|new|more|other|"
    "further|known|unhandled|uncaught|unexpected"
)
_RESULT_WORDS = (
    "and|but|with|had|has|have|were|are|found|reported|passed|passing|succeeded|successful|ok|skipped|ignored|"
    "pending|done|completed|total|tests"
)
_ZERO_ENDS = (
    r"(?:\s*$|\s*[,;|)\]}%/'\"]|\.(?:\s|$)|\s+(?:\w[\w ]{0,20}[:=]|\d|(?:tests|files|jobs|checks)\s*$))"
)
# What takes a word back if it stands directly before it.
_BEFORE = (
    # 12 passed, 0 failed; found 0 errors. But not: worker 0 failed.
    rf"(?:^|[,;:(|\[{{]|\b(?i:{_RESULT_WORDS})\s)\s*0\s+(?i:(?:{_COUNTED_KINDS})\s+)?",
    r"(?:^|[^\w.,:/-])0\s*(?:/|(?i:of))\s*\d+\s+(?:\w+\s+)?",  # 0 of 12 failed, 0/12 tests failed
    r"(?:^|[^\w.,:/-])0\s+(?:\w+\s+)?[a-z]{3,}s\s+",  # 0 test suites failed
    rf"\b(?i:no|zero|without|without\s+any)\s+(?i:(?:{_COUNTED_KINDS}|\w{{3,}}s)\s+)?",
    r"\b(?i:not|never|none|nothing)\s+(?i:(?:an?|been|have|has)\s+)?",
)
# What takes a word back if it follows directly.
_AFTER = (
    rf"(?:\(s\))?(?i:\s+(?:rates?|counts?|ratio|total|tests|checks|files|jobs|cases|suites))?[\"']?"
    rf"\s*(?:[:=]|\s(?i:is|was|of)\s|\s)\s*[\"']?0+(?:\.0+)?{_ZERO_ENDS}",
    r"[\"']?\s*[:=]\s*[\"']?(?i:none|null|nil|false)\b[\"']?\s*(?:$|[,;|)\]}])",
)
_TAKES_BACK_BEFORE = lazy_pattern(f"(?:{'|'.join(_BEFORE)})$".encode())
_TAKES_BACK_AFTER = lazy_pattern("|".join(_AFTER).encode())
_TOKEN_ENDS = lazy_pattern(rb"[\s\"'(<\[]")
# A path or an address, up to the word: /log?state=
_ADDRESS = lazy_pattern(rb"(?:\w+=)?(?:~|\.{1,2})?/[^:]*|.*\w://.*")
# So much of the text before and after a word is looked at.
_NEAR_BYTES = 120


class ErrorMatcher:
    """Finds the first line that reports an error."""

    def __init__(self) -> None:
        self._search = compile_regex(f"(?m:{'|'.join(_WORDS)})", "triggers").search

    def find_first(self, block: bytes) -> LineMatch | None:
        """Return the first line that reports an error in a block of lines with a newline between them."""
        at = 0
        while (found := self._search(block, at)) is not None:
            start, at = found.span(found.lastindex)
            if not _is_taken_back(block, start, at):
                begin = block.rfind(b"\n", 0, start) + 1
                return LineMatch(begin, block[begin:].partition(b"\n")[0])
        return None


def _is_taken_back(block: bytes, start: int, end: int) -> bool:
    """Return whether the text around a word on its line says that there is no error."""
    before = block[max(0, start - _NEAR_BYTES) : start].rpartition(b"\n")[2]
    after = block[end : end + _NEAR_BYTES].partition(b"\n")[0]
    return bool(_TAKES_BACK_BEFORE.search(before) or _TAKES_BACK_AFTER.match(after) or _is_address(before))


def _is_address(before: bytes) -> bool:
    token = _TOKEN_ENDS.split(before)[-1]
    return b"/" in token and _ADDRESS.fullmatch(token) is not None
