"""Cells become pictures with exactly the expected pixels."""

from __future__ import annotations

import struct
import xml.etree.ElementTree as ET
import zlib
from dataclasses import dataclass

import pytest

from muxpilot.pictures.glyphs import draw_cell
from muxpilot.pictures.html_page import render_html
from muxpilot.pictures.palette import DARK, LIGHT, Rgb, Theme
from muxpilot.pictures.png import encode_png
from muxpilot.pictures.svg import render_svg
from muxpilot.terminal.cells import CellGrid, CellStyle, ScreenCell, parse_screen

MARGIN = 8


@dataclass(frozen=True)
class DecodedPng:
    """A PNG, decoded as the standard says: chunks, checksums, lines without a filter."""

    width: int
    height: int
    bits: int
    pixels: list[list[Rgb]]

    @classmethod
    def of(cls, data: bytes) -> DecodedPng:
        assert data[:8] == b"\x89PNG\r\n\x1a\n"
        chunks, at = {}, 8
        while at < len(data):
            size, kind = struct.unpack(">I4s", data[at : at + 8])
            body = data[at + 8 : at + 8 + size]
            assert struct.unpack(">I", data[at + 8 + size : at + 12 + size])[0] == zlib.crc32(kind + body)
            chunks[kind] = body
            at += 12 + size
        assert list(chunks) in ([b"IHDR", b"PLTE", b"IDAT", b"IEND"], [b"IHDR", b"IDAT", b"IEND"])
        width, height, depth, colour, *rest = struct.unpack(">IIBBBBB", chunks[b"IHDR"])
        assert rest == [0, 0, 0]
        bits = depth if colour == 3 else 3 * depth
        lines, stride = zlib.decompress(chunks[b"IDAT"]), width * bits // 8 + 1
        assert len(lines) == stride * height
        palette = chunks.get(b"PLTE", b"")
        pixels = []
        for y in range(height):
            assert lines[y * stride] == 0
            numbers = _split_bits(lines[y * stride + 1 : (y + 1) * stride], bits)
            pixels.append([_to_rgb(palette[n * 3 :][:3] if colour == 3 else n.to_bytes(3)) for n in numbers])
        return cls(width, height, bits, pixels)

    def cell(self, column: int, row: int, scale: int) -> list[str]:
        """Return one cell as text: # for each pixel that has not the colour of the background."""
        left, top = MARGIN + column * 8 * scale, MARGIN + row * 16 * scale
        return [
            "".join(
                "#" if self.pixels[top + y * scale][left + x * scale] != DARK.bg else "." for x in range(8)
            )
            for y in range(16)
        ]


def _split_bits(line: bytes, bits: int) -> list[int]:
    if bits < 8:
        mask = (1 << bits) - 1
        return [byte >> shift & mask for byte in line for shift in range(8 - bits, -1, -bits)]
    size = bits // 8
    return [int.from_bytes(line[at : at + size]) for at in range(0, len(line), size)]


def _to_rgb(part: bytes) -> Rgb:
    red, green, blue = part
    return red, green, blue


def draw_lines(
    lines: list[str], columns: int, rows: int, theme: Theme = DARK, cursor: tuple[int, int] | None = None
) -> DecodedPng:
    return DecodedPng.of(encode_png(parse_screen(lines, columns, rows, cursor), theme))


def test_a_letter_is_drawn_where_it_stands_at_twice_the_size_if_that_fits() -> None:
    small = draw_lines([" A"], 80, 24)
    assert (small.width, small.height) == (80 * 16 + 16, 24 * 32 + 16)
    letter = small.cell(1, 0, 2)
    assert letter[9] == ".######."
    assert small.cell(0, 0, 2) == ["." * 8] * 16
    large = draw_lines([" A"], 200, 50)
    assert (large.width, large.height) == (200 * 8 + 16, 50 * 16 + 16)
    assert large.cell(1, 0, 1) == letter


def test_lines_meet_from_cell_to_cell() -> None:
    box = draw_lines(["┌─┬─┐", "│ │ │", "├─┼─┤", "└─┴─┘"], 5, 4)
    top = [box.cell(column, 0, 2) for column in range(5)]
    level = next(at for at, row in enumerate(top[1]) if row == "########")
    assert [cell[level][-1] for cell in top] == ["#", "#", "#", "#", "."]
    assert [cell[level][0] for cell in top] == [".", "#", "#", "#", "#"]
    for column in (0, 2, 4):
        upright = top[column][15].index("#")
        for row in (1, 2, 3):
            assert box.cell(column, row, 2)[0][upright] == "#"
    assert box.cell(1, 1, 2) == ["." * 8] * 16
    assert draw_lines(["█"], 1, 1).cell(0, 0, 2) == ["#" * 8] * 16


SHAPES = "│─┼╬█▌▒⣿\ue0b0\U0001fb00"


@pytest.mark.parametrize("char", SHAPES)
def test_shapes_have_no_bold_or_italic_that_would_part_them(char: str) -> None:
    assert draw_cell(ScreenCell(char, style=CellStyle(bold=True, italic=True))) == draw_cell(ScreenCell(char))
    assert draw_cell(ScreenCell(char)) != draw_cell(ScreenCell("\uf8ff"))  # not the box of a missing glyph


def test_the_signs_of_prompts_fill_their_cells_and_face_both_ways() -> None:
    point, line, back = (draw_cell(ScreenCell(char)) for char in "\ue0b0\ue0b1\ue0b2")
    assert (point[0], point[7], point[8], point[15]) == (0x80, 0xFF, 0xFF, 0x80)
    assert (line[0], line[7]) == (0x80, 0x01)
    assert [int(f"{row:08b}"[::-1], 2) for row in back] == list(point)
    kinds = {draw_cell(ScreenCell(chr(number))) for number in range(0xE0B0, 0xE0C0)}
    assert len(kinds) == 14  # two slopes are the edges of two symbols each


def test_an_underline_may_have_a_colour_of_its_own() -> None:
    shown = draw_lines(["\x1b[4:3m\x1b[58;2;1;2;3mn\x1b[59mn\x1b[0m"], 2, 1)
    first, second = ({line[x] for line in shown.pixels for x in range(at, at + 16)} for at in (8, 24))
    assert (first, second) == ({DARK.bg, DARK.fg, (1, 2, 3)}, {DARK.bg, DARK.fg})
    page = render_html(parse_screen(["\x1b[4:3;58:5:196mn\x1b[0m"], 2, 1), DARK, "t")
    assert "text-decoration:underline wavy #ff0000" in page


def test_the_overline_is_read_as_tmux_writes_it() -> None:
    assert draw_lines(["\x1b[5:3mn\x1b[0m"], 1, 1).cell(0, 0, 2)[0] == "########"


STYLES = {
    "bold": "\x1b[1m",
    "italic": "\x1b[3m",
    "underline": "\x1b[4m",
    "double underline": "\x1b[21m",
    "curly underline": "\x1b[4:3m",
    "strike": "\x1b[9m",
    "overline": "\x1b[53m",
    "reverse": "\x1b[7m",
    "ground": "\x1b[44m",
}


def test_every_style_can_be_seen_and_told_from_the_others() -> None:
    plain = draw_lines(["n"], 1, 1).pixels
    seen = [draw_lines([f"{codes}n\x1b[0m"], 1, 1).pixels for codes in STYLES.values()]
    assert all(pixels != plain for pixels in seen)
    assert all(one != other for at, one in enumerate(seen) for other in seen[:at])


def test_colours_are_exact_and_many_need_no_palette() -> None:
    few = draw_lines(["\x1b[38;2;1;2;3;48;2;250;128;7m█ "], 2, 1)
    assert few.bits == 2
    assert few.pixels[MARGIN][MARGIN] == (1, 2, 3)
    assert few.pixels[MARGIN][MARGIN + 16] == (250, 128, 7)
    many = draw_lines(["".join(f"\x1b[48;2;{at % 200};{at // 200};9m " for at in range(400))], 400, 1)
    assert many.bits == 24
    assert many.pixels[MARGIN][MARGIN + 399 * 8] == (199, 1, 9)


def test_the_cursor_shows_and_a_wide_one_whole() -> None:
    shown = draw_lines(["a世"], 4, 1, cursor=(2, 0))
    assert shown.pixels[MARGIN][MARGIN + 16] == DARK.fg
    assert shown.pixels[MARGIN][MARGIN + 16 + 31] == DARK.fg
    assert shown.pixels[MARGIN][MARGIN + 16 + 32] == DARK.bg
    assert draw_lines(["a"], 4, 1).pixels[MARGIN][MARGIN + 16] == DARK.bg


def test_a_theme_has_its_own_ground() -> None:
    assert draw_lines(["x"], 2, 1, LIGHT).pixels[0][0] == LIGHT.bg == (255, 255, 255)


def test_what_the_font_lacks_is_a_box_with_its_number() -> None:
    one, other = (draw_cell(ScreenCell(char, 2)) for char in "\U000204d7\U000204d8")
    assert one != other
    assert one[1] == one[14] == 0xFFFF
    assert draw_cell(ScreenCell("\U0010fffd"))[1] == 0xFF


@pytest.mark.parametrize(
    ("text", "width"), [("世", 2), ("🎉", 2), ("é", 1), ("€", 1), ("ж", 1), ("☃", 1), ("ｱ", 1)]
)
def test_characters_of_many_scripts_have_shapes(text: str, width: int) -> None:
    rows = draw_cell(ScreenCell(text, width))
    assert any(rows)
    assert max(rows) < 1 << width * 8
    assert rows[1] != (1 << width * 8) - 1  # not the box of a missing glyph


def test_marks_stand_on_their_letters_and_joiners_show_nothing() -> None:
    assert draw_cell(ScreenCell("e\u0301")) != draw_cell(ScreenCell("e"))
    assert draw_cell(ScreenCell("👩\u200d💻", 2)) == draw_cell(ScreenCell("👩", 2))
    assert draw_cell(ScreenCell("☃\ufe0f")) == draw_cell(ScreenCell("☃"))


def test_a_full_screen_is_a_small_file() -> None:
    lines = [
        f"\x1b[3{at % 8}m{at:04d} a line of a log that is as long as such lines are\x1b[0m"
        for at in range(50)
    ]
    assert len(encode_png(parse_screen(lines, 200, 50), DARK)) < 30_000


NASTY = ['<script>alert(1)</script> & "quoted" ]]>', "\x9b\x85\ufffe世🎉é", "a\x01b"]


def test_an_svg_is_whole_xml_with_the_text_in_it_and_nothing_that_runs() -> None:
    shown = render_svg(parse_screen([*NASTY, "┌─┐ \x1b[1;3;4;31mred\x1b[0m"], 60, 5, (0, 0)), DARK)
    root = ET.fromstring(shown)
    names = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert names == {"svg", "style", "rect", "text", "path"}
    words = "".join(element.text or "" for element in root.iter())
    assert "script>alert(1)</script>" in words
    assert "世" in words
    [red] = [element for element in root.iter() if element.text == "red"]
    assert red.attrib["style"] == "font-weight:bold;font-style:italic;text-decoration:underline solid"
    assert red.attrib["textLength"] == "24"


def test_a_page_runs_nothing_and_loads_nothing() -> None:
    page = render_html(parse_screen([*NASTY, "\x1b[1;31mred\x1b[0m"], 60, 5), DARK, "<pane>")
    assert "<script" not in page
    assert "&lt;script&gt;alert(1)" in page
    assert "<title>&lt;pane&gt;</title>" in page
    assert "default-src 'none'" in page
    assert '<span style="color:#e0565b;font-weight:bold">red</span>' in page
    assert "\x9b" not in page


def test_an_empty_screen_is_a_picture_too() -> None:
    empty = CellGrid([[ScreenCell(" ", 1, CellStyle())]], 1)
    assert DecodedPng.of(encode_png(empty, DARK)).width == 32


def test_a_flag_in_one_cell_shows_both_of_its_letters() -> None:
    letters = zip(draw_cell(ScreenCell("🇩")), draw_cell(ScreenCell("🇪")), strict=True)
    assert draw_cell(ScreenCell("🇩🇪", 2)) == tuple(first << 8 | second for first, second in letters)
