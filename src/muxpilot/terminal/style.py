"""Colours and attributes of cells, and the SGR sequences that set them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

Colour = int | tuple[int, int, int] | None  # one of 256 colours, a true colour, or the default of the theme


@dataclass(frozen=True, slots=True)
class CellStyle:
    """Colours and attributes of a cell."""

    fg: Colour = None
    bg: Colour = None
    bold: bool = False
    dim: bool = False
    italic: bool = False
    underline: int = 0  # 1 single, 2 double, 3 curly, 4 dotted, 5 dashed
    line: Colour = None  # of the underline; None is the colour of the text
    reverse: bool = False
    hidden: bool = False
    strike: bool = False
    overline: bool = False


PLAIN = CellStyle()

_ATTRIBUTES: dict[int, dict[str, Any]] = {
    1: {"bold": True},
    2: {"dim": True},
    3: {"italic": True},
    4: {"underline": 1},
    7: {"reverse": True},
    8: {"hidden": True},
    9: {"strike": True},
    21: {"underline": 2},
    22: {"bold": False, "dim": False},
    23: {"italic": False},
    24: {"underline": 0},
    27: {"reverse": False},
    28: {"hidden": False},
    29: {"strike": False},
    39: {"fg": None},
    49: {"bg": None},
    53: {"overline": True},
    55: {"overline": False},
    59: {"line": None},
}
_COLOUR_FIELDS = {38: "fg", 48: "bg", 58: "line"}
_FIRST_COLOURS = ((30, 0, "fg"), (40, 0, "bg"), (90, 8, "fg"), (100, 8, "bg"))
_MOST_SUBPARAMETERS = 8  # of tmux
_MOST_PARAMETERS = 23


def parse_numbers(parameters: str) -> list[int | str | None] | None:
    """Return the parameters of a sequence, or None where tmux discards it.

    A parameter that is left out is None, and one with colons stays text.
    """
    if not parameters:
        return []
    words = parameters.split(";")
    if len(words) > _MOST_PARAMETERS:
        return None
    numbers = [(word if ":" in word else int(word)) if word else None for word in words]
    is_too_large = any(isinstance(number, int) and number > 0x7FFFFFFF for number in numbers)
    return None if is_too_large else numbers


def get_parameter(numbers: Sequence[int | str | None], at: int, *, least: int, default: int) -> int | None:
    """Return a parameter; None for one with colons, for which tmux does nothing."""
    value = numbers[at] if at < len(numbers) else None
    if value is None:
        return default
    return max(value, least) if isinstance(value, int) else None


@lru_cache(1024)
def apply_sgr(style: CellStyle, parameters: str) -> CellStyle:
    """Return the style after one SGR sequence with these parameters, as tmux reads them."""
    numbers = parse_numbers(parameters)
    if numbers is None:
        return style
    if not numbers:
        return PLAIN
    at = 0
    while at < len(numbers):
        number = numbers[at]
        at += 1
        if isinstance(number, str):
            style = _apply_subparameters(style, number)
        elif number in _COLOUR_FIELDS:
            style, taken = _apply_colour(style, _COLOUR_FIELDS[number], numbers[at : at + 4])
            at += taken
        else:
            style = _apply_number(style, number or 0)
    return style


def _apply_number(style: CellStyle, number: int) -> CellStyle:
    if number == 0:
        return PLAIN
    if number in _ATTRIBUTES:
        return replace(style, **_ATTRIBUTES[number])
    for first, base, name in _FIRST_COLOURS:
        if first <= number < first + 8:
            return _with_colour(style, name, base + number - first)
    return style


def _with_colour(style: CellStyle, name: str, colour: Colour) -> CellStyle:
    changed: dict[str, Any] = {name: colour}
    return replace(style, **changed)


def _apply_colour(style: CellStyle, name: str, rest: Sequence[int | str | None]) -> tuple[CellStyle, int]:
    """Apply `5;n` or `2;r;g;b` after 38, 48 or 58. Return also how many numbers that took."""
    kind, *parts = [number if isinstance(number, int) else -1 for number in (*rest, None)]
    if kind == 5:
        return _with_palette_colour(style, name, parts[0]), 2
    if kind == 2 and len(parts) > 3 and all(0 <= part <= 255 for part in parts[:3]):
        return _with_colour(style, name, (parts[0], parts[1], parts[2])), 4
    return style, 1


def _with_palette_colour(style: CellStyle, name: str, number: int) -> CellStyle:
    if 0 <= number <= 255:
        return _with_colour(style, name, number)
    return style if name == "line" else _with_colour(style, name, None)


def _apply_subparameters(style: CellStyle, text: str) -> CellStyle:
    """Apply one parameter with colons: `4:3`, `38:5:n`, `38:2::r:g:b`, and `5:3`, as tmux 3.3 writes 53."""
    numbers = [int(word) if word else -1 for word in text.split(":")]
    if len(numbers) >= _MOST_SUBPARAMETERS:
        return style
    first, *rest = numbers
    if first == 4:
        return replace(style, underline=rest[0]) if len(rest) == 1 and 0 <= rest[0] <= 5 else style
    if first == 5 and rest == [3]:
        return replace(style, overline=True)
    name = _COLOUR_FIELDS.get(first)
    if name is None or len(rest) < 2:
        return style
    if rest[0] == 5:
        return _with_palette_colour(style, name, rest[1])
    parts = rest[1:4] if len(rest) == 4 else rest[2:5]
    if rest[0] == 2 and len(parts) == 3 and all(0 <= part <= 255 for part in parts):
        return _with_colour(style, name, (parts[0], parts[1], parts[2]))
    return style
