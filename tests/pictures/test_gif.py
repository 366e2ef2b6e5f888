"""Screens become a GIF that another program decodes to the same pixels."""

from __future__ import annotations

import io
from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from muxpilot.pictures.gif import Frame, encode_gif
from muxpilot.pictures.palette import DARK, LIGHT, Theme
from muxpilot.pictures.png import encode_png
from muxpilot.terminal.cells import CellGrid, parse_screen

# A PNG of so many columns is not enlarged, so that both pictures have the same size.
COLUMNS, ROWS = 100, 3


def make_screen(*lines: str, cursor: tuple[int, int] | None = None) -> CellGrid:
    return parse_screen(lines, COLUMNS, ROWS, cursor)


def decode_gif(frames: list[Frame], theme: Theme = DARK) -> Iterator[tuple[bytes, float]]:
    with Image.open(io.BytesIO(b"".join(encode_gif(frames, theme)))) as image:
        assert image.info["loop"] == 0
        for at in range(getattr(image, "n_frames", 1)):
            image.seek(at)
            yield image.convert("RGB").tobytes(), image.info["duration"] / 1000


def decode_png(one: CellGrid, theme: Theme = DARK) -> bytes:
    with Image.open(io.BytesIO(encode_png(one, theme))) as image:
        return image.convert("RGB").tobytes()


@pytest.mark.parametrize("theme", [DARK, LIGHT])
def test_every_frame_is_the_picture_of_its_screen_for_its_time(theme: Theme) -> None:
    frames = [
        (make_screen("one \x1b[31mred\x1b[0m", cursor=(3, 0)), 0.5),
        (make_screen("one \x1b[31mred\x1b[0m", "世界 ┌─┐"), 1.25),
        (make_screen("", "", "\x1b[44mlast"), 3.0),
    ]
    assert list(decode_gif(frames, theme)) == [(decode_png(one, theme), seconds) for one, seconds in frames]


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 255), st.sampled_from("aX█▒ ")), max_size=COLUMNS * ROWS),
        min_size=1,
        max_size=3,
    )
)
@settings(max_examples=25)
def test_any_cells_are_read_back_as_they_are(cells: list[list[tuple[int, str]]]) -> None:
    texts = [[f"\x1b[48;5;{colour}m{char}" for colour, char in row] for row in cells]
    screens = [make_screen(*("".join(row[at : at + COLUMNS]) for at in (0, COLUMNS, 200))) for row in texts]
    frames = [(one, 0.1 + at) for at, one in enumerate(screens)]
    found = list(decode_gif(frames))
    assert found[-1][0] == decode_png(screens[-1])
    assert sum(seconds for _, seconds in found) == pytest.approx(sum(seconds for _, seconds in frames))


def test_more_colours_than_a_gif_has_become_their_neighbours() -> None:
    many = make_screen(
        *("".join(f"\x1b[48;2;{at};{row};{255 - at}m " for at in range(100)) for row in (9, 99, 199))
    )
    [(found, _)] = decode_gif([(many, 1.0)])
    assert max(abs(one - other) for one, other in zip(found, decode_png(many), strict=True)) <= 26


def test_a_frame_that_changes_one_row_is_a_small_part_of_the_file() -> None:
    lines = [f"{at:04d} a line of a log that is as long as such lines are" for at in range(40)]
    frames = [(parse_screen([*lines, "$ " + "x" * at], COLUMNS, 41, (at + 2, 40)), 0.1) for at in range(20)]
    sizes = [len(part) for part in encode_gif(frames, DARK)]
    assert sum(sizes[2:]) < 20 * 600
