"""Find private keys in PEM form: whole blocks, those without their beginning or end, and lone lines of one.

Lines between the marks have the same length, 64 or 70 characters, and only the last one is shorter. So the
end of a block can be told where its last mark is not in the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

Span = tuple[int, int]

_MARK = re.compile(rb"-----(BEGIN|END) ([A-Z0-9 ]{0,40}?)-----")
_PRIVATE = re.compile(rb"(?:[A-Z0-9 ]* )?PRIVATE KEY(?: BLOCK)?")
_LONGEST_BLOCK = 1 << 16

# A line of a block, perhaps with a number, a quote or a border before and after it. Group 1 is the key.
_EDGE = rb"[^A-Za-z0-9+/=\n]{0,16}"
_NUMBER = rb"(?:" + _EDGE + rb"[0-9]{1,6}(?:[:|\t ]|\xe2\x94\x82)+)?"
_KEY_LINE = re.compile(_NUMBER + _EDGE + rb"([A-Za-z0-9+/=]{1,128})" + _EDGE)
_HEADER_LINE = re.compile(rb"\s*(?:[A-Z][A-Za-z-]{2,20}: .*)?")
# The same on one line, as a string of a program or of JSON has it.
_KEY_ON_ONE_LINE = rb"(?:[A-Za-z0-9+/=]|\\+[nr])"
_AFTER_MARK = re.compile(_KEY_ON_ONE_LINE + rb"+")
_BEFORE_MARK = re.compile(_KEY_ON_ONE_LINE + rb"+\Z")

# A line that stands alone is taken for a part of a key if it has exactly the length of one.
_LONE_LINE = re.compile(
    rb"(?m)^" + _NUMBER + _EDGE + rb"([A-Za-z0-9+/]{70}|[A-Za-z0-9+/]{64})" + _EDGE + rb"$"
)
_MIXTURE = (re.compile(rb"[A-Z]"), re.compile(rb"[a-z]"), re.compile(rb"[0-9]"))


def find_private_keys(data: bytes) -> Iterator[Span]:
    """Yield the ranges of private keys and of parts of them."""
    if b"-----" not in data:
        yield from _find_lone_lines(data, ())
        return
    marks = list(_MARK.finditer(data))
    public: list[Span] = []
    for index, mark in enumerate(marks):
        following = marks[index + 1] if index + 1 < len(marks) else None
        before = marks[index - 1] if index else None
        is_private = _PRIVATE.fullmatch(mark[2]) is not None
        if mark[1] == b"BEGIN":
            span = _from_begin(data, mark, following)
        elif before is not None and before[1] == b"BEGIN" and before[2] == mark[2]:
            continue  # the block was found at its beginning
        else:
            span = _start_before(data, mark), mark.end()
        if is_private:
            yield span
        else:
            public.append(span)
    yield from _find_lone_lines(data, public)


def _from_begin(data: bytes, mark: re.Match[bytes], following: re.Match[bytes] | None) -> Span:
    """Return a block from its first mark on, to its last mark, or as far as lines are lines of a key."""
    if (
        following is not None
        and following[1] == b"END"
        and following[2] == mark[2]
        and following.start() - mark.end() <= _LONGEST_BLOCK
    ):
        return mark.start(), following.end()
    rest = _AFTER_MARK.match(data, mark.end())
    return mark.start(), _find_end_of_lines(data, rest.end() if rest is not None else mark.end())


def _find_end_of_lines(data: bytes, end: int) -> int:
    """Return where a key ends whose lines, perhaps after headers, begin after `end`."""
    length = 0
    for begin, stop in _lines_after(data, end):
        found = _KEY_LINE.fullmatch(data, begin, stop)
        if found is None:
            if length or _HEADER_LINE.fullmatch(data, begin, stop) is None:
                break
            end = stop
            continue
        end, size = stop, len(found[1])
        if length and size != length:
            break  # the last line
        length = size
    return end


def _start_before(data: bytes, mark: re.Match[bytes]) -> int:
    """Return where the part of a block before its last mark begins."""
    line = data.rfind(b"\n", 0, mark.start()) + 1
    rest = _BEFORE_MARK.search(data, max(line, mark.start() - _LONGEST_BLOCK), mark.start())
    if rest is not None:
        return rest.start()
    start, length = mark.start() if data[line : mark.start()].strip() else line, 0
    while line:
        begin, stop = data.rfind(b"\n", 0, line - 1) + 1, line - 1
        found = _KEY_LINE.fullmatch(data, begin, stop)
        if found is None or (length and len(found[1]) != length):
            break
        is_last_line = start == line or not length
        length = len(found[1]) if not is_last_line or len(found[1]) >= 64 else 0
        start = line = begin
    return start


def _lines_after(data: bytes, at: int) -> Iterator[Span]:
    """Yield the ranges of the lines after the one that `at` is in."""
    line = data.find(b"\n", at, at + _LONGEST_BLOCK)
    while line >= 0:
        stop = data.find(b"\n", line + 1)
        yield line + 1, stop if stop >= 0 else len(data)
        line = stop


def _find_lone_lines(data: bytes, public: Sequence[Span]) -> Iterator[Span]:
    """Yield lines of a key whose marks are not in the text. Lines of certificates look the same."""
    for found in _LONE_LINE.finditer(data):
        is_public = any(start <= found.start(1) < end for start, end in public)
        if not is_public and _is_mixed(found[1]):
            yield found.span(1)
            last = next(_lines_after(data, found.end()), (0, 0))
            shorter = _KEY_LINE.fullmatch(data, *last)
            if shorter is not None and (shorter[1].endswith(b"=") or _is_mixed(shorter[1])):
                yield shorter.span(1)


def _is_mixed(key: bytes) -> bool:
    return all(kind.search(key) for kind in _MIXTURE)
