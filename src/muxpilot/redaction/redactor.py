"""Take secrets out of text, rows of a screen and the data of answers. Loaded only where `redact` is on.

Line breaks stay, so numbers of lines still hold. Text that was cut out of a larger one is judged with what
stands before and after it, so that a cut does not show the half of a secret.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from muxpilot.config.model import Settings
from muxpilot.errors import BadInput
from muxpilot.patterns import compile_regex
from muxpilot.redaction.find_secrets import SecretPattern, find_secrets, merge_spans
from muxpilot.redaction.private_keys import Span, find_private_keys
from muxpilot.redaction.secret_shapes import SHAPES
from muxpilot.redaction.text_view import TextView, find_hidden, find_wraps
from muxpilot.terminal.escapes import UNSEEN_BYTES
from muxpilot.terminal.width import cell_width

REDACTED = "[redacted]"
# Stands for one redacted cell of a screen. A private character: programs have no reason to print it.
MASK = "\U0010fffd"
_MASKS = re.compile(f"{MASK}+")
# Escape sequences, line ends, and what is between them.
_PIECES = re.compile(UNSEEN_BYTES + rb"|\n|[^\n\x00-\x08\x0b-\x1f\x7f]+")

# Fields that the next call needs. They are made by tmux or muxpilot, not by programs in panes.
_KEPT_FIELDS = frozenset(
    "id paneId windowId sessionId activePaneId sourcePaneId targetPaneId commandId watchId killed cursor "
    "socket resourceUri uri uriTemplate mimeType tty clientTty requestId progressToken status event".split()
)


class Redactor:
    """Knows the forms of secrets, and the patterns of the configuration."""

    mask = MASK

    def __init__(self, patterns: Sequence[str] = ()) -> None:
        """Compile all patterns. Raise BadInput for a bad one."""
        own = [_compile_own(pattern) for pattern in patterns]
        self._patterns = [*(SecretPattern(compile_regex(row.pattern, "shape")) for row in SHAPES), *own]
        # Most text has no secret at all: one pattern for all of them tells so in a tenth of the time.
        every = "|".join([*(row.pattern for row in SHAPES), *(f"(?m:{pattern})" for pattern in patterns)])
        self._any = _compile_if_small(every)
        begun = "|".join(f"(?:{shape.begun})" for shape in SHAPES if shape.begun)
        self._begun = compile_regex(f"(?:{begun})$", "shape")
        self._begun_in_a_line = compile_regex(f"(?m:(?:{begun})$)", "shape")
        # An anchor of the whole text does not match where several texts are searched as lines of one.
        self._searches_one_by_one = self._any is None or any(
            anchor in pattern for pattern in patterns for anchor in ("\\A", "\\z", "(?-m", "(?s")
        )

    def redact(
        self,
        text: str,
        *,
        before: str = "",
        after: str = "",
        columns: int | None = None,
        is_screen: bool = False,
    ) -> str:
        """Return a text without secrets. `before` and `after` are what stands around it.

        `is_screen`: it is rows of a pane so many columns wide, or as wide as the widest row.
        """
        if not text:
            return text
        head, data, tail = _encode(before), _encode(text), _encode(after)
        spans = self._find(head + data + tail, columns=columns, is_screen=is_screen, is_end=not tail)
        inner = [(max(0, a - len(head)), min(len(data), b - len(head))) for a, b in spans]
        inner = [(start, end) for start, end in inner if start < end]
        if not inner:
            return text
        return _replace(data, inner, lambda piece, is_first: REDACTED if is_first else "")

    def redact_part(self, before: str, text: str, after: str) -> str:
        """Return a part of a longer text without secrets, also without those that a cut has halved."""
        return self.redact(text, before=before, after=after)

    def find_continued(self, before: str, text: str, *, counts_values: bool = True) -> tuple[str, str]:
        """Return the beginning of a text that is a secret because of what stands before it, and what to show.

        It is the rest of a token or, with `counts_values`, the value of a name. Both are empty if there is
        none.
        """
        head, data = _encode(before), _encode(text)
        spans = self._find(head + data, columns=None, is_screen=False, is_end=False)
        for start, end in spans:
            if (start < len(head) or (counts_values and head)) and start <= len(head) < end:
                return _decode(data[: end - len(head)]), REDACTED
        return "", ""

    def redact_lines(self, lines: Sequence[str], *, is_screen: bool = False) -> list[str]:
        """Return the same number of lines without secrets."""
        return self.redact("\n".join(lines), is_screen=is_screen).split("\n") if lines else []

    def mask_rows(self, rows: Sequence[str], columns: int) -> list[str]:
        """Return the rows of a screen with `mask` in each cell of a secret, so that columns still hold."""
        data = _encode("\n".join(rows))
        spans = self._find(data, columns=columns, is_screen=True, is_end=False)
        if not spans:
            return list(rows)
        return _replace(data, spans, lambda piece, _: MASK * sum(map(cell_width, piece))).split("\n")

    def has_secret(self, text: str, start: int, end: int) -> bool:
        """Return whether a secret is in this range of the text's bytes, in part or fully."""
        spans = self._find(_encode(text), columns=None, is_screen=False, is_end=False)
        return any(first < end and start < last for first, last in spans)

    def redact_data(self, data: Any) -> Any:
        """Return the JSON data of an answer without secrets; the same object if it holds none.

        Most answers hold none. One search through all texts of a list takes a tenth of the time.
        """
        return data if self._is_clean("\n".join(_list_texts(data))) else self.redact_value(data)

    def _is_clean(self, text: str) -> bool:
        """Return True only if no line of a text has a secret, or anything that could hide one."""
        data = _encode(text)
        return not (
            self._searches_one_by_one
            or MASK in text
            or self._any.search(data) is not None
            or self._begun_in_a_line.search(data) is not None
            or find_hidden(data)
            or next(find_private_keys(data), None) is not None
        )

    def redact_value(self, value: Any) -> Any:
        """Return JSON data without secrets. Ids and cursors stay, as the next call needs them."""
        if isinstance(value, str):
            return self.redact_field(value)
        if isinstance(value, list):
            return self._redact_list(value)
        if isinstance(value, Mapping):
            is_screen = _shows_screen(value)
            return {
                self.redact_field(key): item
                if key in _KEPT_FIELDS and isinstance(item, str)
                else self.redact_field(item, is_screen=is_screen or key == "screen")
                if isinstance(item, str)
                else self.redact_value(item)
                for key, item in value.items()
            }
        return value

    def redact_field(self, text: str, *, is_screen: bool = False) -> str:
        """Return a text without secrets, and without the marks of cells that were redacted on a screen."""
        if MASK in text:
            text = _MASKS.sub(REDACTED, text)
        return self.redact(text, is_screen=is_screen)

    def _redact_list(self, items: list[Any]) -> list[Any]:
        """Return a list without secrets. Texts are lines of one text, such as the rows of a screen."""
        if items and all(isinstance(item, str) and "\n" not in item for item in items):
            return self.redact_field("\n".join(items)).split("\n")
        return [self.redact_value(item) for item in items]

    def _find(self, data: bytes, *, columns: int | None, is_screen: bool, is_end: bool) -> list[Span]:
        """Return the ranges of secrets in bytes, also of those that escapes or line ends are inside of."""
        hidden = find_hidden(data)
        spans = self._find_in(TextView(data, hidden), is_end=is_end)
        wraps = find_wraps(data, columns, hidden) if is_screen else []
        if wraps:
            spans += self._find_in(TextView(data, sorted([*hidden, *wraps])), is_end=is_end)
        return merge_spans(spans)

    def _find_in(self, view: TextView, *, is_end: bool) -> list[Span]:
        has_shapes = self._any is None or self._any.search(view.data) is not None
        spans = find_secrets(view.data, self._patterns if has_shapes else ())
        begun = self._begun.search(view.data) if is_end else None
        if begun is not None:
            spans = [*spans, begun.span()]
        return [view.to_whole(span) for span in spans]


def load_redactor(settings: Settings) -> Redactor:
    """Return a redactor with the patterns of the configuration. Raise BadInput that names the line."""
    where = settings.origin.locate("security.redact_patterns")
    for text in settings.security.redact_patterns:
        try:
            compile_regex(text, "redact_patterns")
        except BadInput as error:
            raise BadInput(f"{where}: {text[:60]!r} is not a pattern. {error}") from None
    return Redactor(settings.security.redact_patterns)


def _compile_if_small(pattern: str) -> Any:
    """Compile a pattern. Return None if RE2 finds it too large."""
    try:
        return compile_regex(pattern, "redact_patterns")
    except BadInput:
        return None


def _compile_own(pattern: str) -> SecretPattern:
    """Compile a pattern of the configuration. Its groups mean nothing, and `^` and `$` are ends of lines."""
    return SecretPattern(compile_regex(f"(?m:{pattern})", "redact_patterns"), has_groups=False)


def _list_texts(value: Any) -> Iterator[str]:
    """Yield all texts in JSON data, and a mask after the rows of a screen: a wrap could hide a secret."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from _list_texts(item)
    elif isinstance(value, Mapping):
        is_screen = _shows_screen(value)
        for key, item in value.items():
            yield key
            yield from _list_texts(item)
            if isinstance(item, str) and (is_screen or key == "screen"):
                yield MASK


def _shows_screen(answer: Mapping[str, Any]) -> bool:
    """Return whether the texts of an answer are rows of a full-screen program."""
    state = answer.get("paneState")
    return answer.get("alternateScreen") is True or (
        isinstance(state, Mapping) and state.get("alternateScreen") is True
    )


def _encode(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")


def _replace(data: bytes, spans: Sequence[Span], fill: Callable[[str, bool], str]) -> str:
    """Replace the ranges. `fill` gets each piece without line ends and escapes, and whether a line begins."""
    parts, at = [], 0
    for start, end in spans:
        parts.append(_decode(data[at:start]))
        is_first = True
        for piece in _PIECES.findall(data[start:end]):
            is_kept = piece[0] < 0x20 or piece[0] == 0x7F
            parts.append(_decode(piece) if is_kept else fill(_decode(piece), is_first))
            is_first = piece == b"\n" or (is_first and is_kept)
        at = end
    return "".join([*parts, _decode(data[at:])])


def _decode(data: bytes) -> str:
    return data.decode("utf-8", "surrogateescape")
