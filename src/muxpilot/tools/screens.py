"""The screen of a pane as data, and the mouse in it. Rows and columns count from 0."""

from __future__ import annotations

from typing import Annotated

from muxpilot.errors import BadInput
from muxpilot.records import record
from muxpilot.terminal.sanitize import sanitize_text
from muxpilot.terminal.screen_text import Span, find_highlighted, row_text
from muxpilot.tmux import PaneId
from muxpilot.toolkit.spec import PRIMITIVE, Effect, tool
from muxpilot.tools.context import Context
from muxpilot.watch.act_and_see import ScreenCursor, to_grid

_LONGEST_TITLE = 256  # any program in the pane can set it

SpanArgument = Annotated[list[int] | None, "[first, last], from 0; default: all"]


@record
class PaneScreen:
    """The screen of a pane, or a part of it: `rows` and `highlighted` are those of the part."""

    pane_id: str
    width: int
    height: int
    rows: list[str]
    cursor: ScreenCursor
    highlighted: list[str]
    title: str
    alternate_screen: bool


@tool(Effect.READ, PRIMITIVE, "capture")
async def read_screen(
    ctx: Context, pane_id: PaneId, rows: SpanArgument = None, columns: SpanArgument = None
) -> PaneScreen:
    """Get the screen of a pane as data: rows, cursor, and the highlighted texts, such as a selected item."""
    title = (await ctx.tmux.panes.get(pane_id)).title
    shown = await ctx.tmux.capture.screen(pane_id)
    wanted_rows = _parse_span("rows", rows, shown.rows)
    wanted_columns = _parse_span("columns", columns, shown.columns) if columns is not None else None
    grid = to_grid(shown)
    column, row = shown.cursor_at
    return PaneScreen(
        pane_id=pane_id,
        width=shown.columns,
        height=shown.rows,
        rows=[
            row_text(cells, wanted_columns) for cells in grid.rows[wanted_rows.first : wanted_rows.last + 1]
        ],
        cursor=ScreenCursor(row, column, visible=shown.cursor is not None),
        highlighted=find_highlighted(grid, wanted_rows, wanted_columns),
        title=sanitize_text(title)[:_LONGEST_TITLE],
        alternate_screen=shown.is_alternate,
    )


def _parse_span(argument: str, given: list[int] | None, size: int) -> Span:
    """Return the first and the last row or column; without any given, all of them."""
    if given is None:
        return Span(0, size - 1)
    if len(given) != 2 or not 0 <= given[0] <= given[1]:
        raise BadInput(
            f"The argument {argument!r} must be two numbers, the first and the last, from 0.",
            "Write [0, 9] for the first ten.",
        )
    if given[0] >= size:
        raise BadInput(f"The argument {argument!r} begins outside of the screen, which has {size}.")
    return Span(given[0], min(given[1], size - 1))


TOOLS = (read_screen,)
