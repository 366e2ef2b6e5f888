"""Find the ranges of secrets in bytes, with patterns that `re` or RE2 has compiled."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from muxpilot.redaction.private_keys import Span, find_private_keys
from muxpilot.redaction.secret_shapes import PLAIN_VALUES


class SecretPattern(NamedTuple):
    """A compiled pattern. `has_groups`: the last group that matched is the secret, else the whole match."""

    regex: Any
    has_groups: bool = True


def find_secrets(data: bytes, patterns: Sequence[SecretPattern]) -> list[Span]:
    """Return the ranges of all secrets, in order; none overlaps another."""
    return merge_spans([*_find_shapes(data, patterns), *find_private_keys(data)])


def _find_shapes(data: bytes, patterns: Sequence[SecretPattern]) -> Iterator[Span]:
    for regex, has_groups in patterns:
        for found in regex.finditer(data):
            start, end = found.span((found.lastindex if has_groups else None) or 0)
            if start < end and data[start:end].lower() not in PLAIN_VALUES:
                yield start, end


def merge_spans(spans: Iterable[Span]) -> list[Span]:
    """Return the spans in order, those that touch or overlap as one."""
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(end, merged[-1][1])
        else:
            merged.append((start, end))
    return merged
