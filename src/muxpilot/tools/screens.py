"""The screen of a pane as data, and the mouse in it. Rows and columns count from 0."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated, Literal

from muxpilot.errors import BadInput, Refused
from muxpilot.records import record
from muxpilot.terminal.mouse import MouseEvent, encode_mouse, is_wheel
from muxpilot.terminal.sanitize import sanitize_text
from muxpilot.terminal.screen_text import Span, find_highlighted, row_text
from muxpilot.tmux import PaneId
from muxpilot.tmux.objects.input import MouseMode
from muxpilot.toolkit.argument_flags import PressedKey
from muxpilot.toolkit.argument_types import Between
from muxpilot.toolkit.rows import PaneDone
from muxpilot.toolkit.spec import PRIMITIVE, Effect, tool
from muxpilot.tools.act_and_see import ActAnswer, TimeoutMs, UntilAgain, act, act_deadline, mask_screen
from muxpilot.tools.context import Context, MainPane
from muxpilot.watch.act_and_see import ScreenCursor, to_grid

_LONGEST_TITLE = 256  # any program in the pane can set it

_LARGEST_PLACE = 10_000

Button = Annotated[Literal["left", "middle", "right", "wheel-up", "wheel-down"], "Button"]
Action = Annotated[Literal["click", "press", "release", "drag"], "drag goes to toRow and toColumn"]
Place = Between(0, _LARGEST_PLACE)
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
    ctx: Context, pane_id: MainPane, rows: SpanArgument = None, columns: SpanArgument = None
) -> PaneScreen:
    """Get the screen of a pane as data: rows, cursor, and the highlighted texts, such as a selected item."""
    title = (await ctx.tmux.panes.get(pane_id)).title
    shown = await ctx.tmux.capture.screen(pane_id)
    wanted_rows = _parse_span("rows", rows, shown.rows)
    wanted_columns = _parse_span("columns", columns, shown.columns) if columns is not None else None
    grid = to_grid(mask_screen(ctx, shown))
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


@tool(
    Effect.TYPE,
    PRIMITIVE,
    "interactive",
    typed_input=lambda arguments: (PressedKey("mouse"),),
    deadline_s=act_deadline,
    shows_if="until",
)
async def send_mouse(
    ctx: Context,
    pane_id: MainPane,
    row: Annotated[int, "From 0", Place],
    column: Annotated[int, "From 0", Place],
    button: Button = "left",
    action: Action = "click",
    to_row: Annotated[int | None, "For drag", Place] = None,
    to_column: Annotated[int | None, "For drag", Place] = None,
    until: UntilAgain = None,
    timeout_ms: TimeoutMs = 5000,
) -> PaneDone | ActAnswer:
    """Use the mouse in a program that has asked for it."""
    places = [(row, column), *_parse_drag_end(action, button, to_row, to_column)]

    async def send() -> PaneDone:
        """Send the events while the pane is held."""
        mode = await ctx.tmux.input.mouse_mode(pane_id)
        _refuse_unwanted(pane_id, mode, places)
        events = _list_events(action, button, places, has_motion=mode.has_motion)
        await ctx.tmux.input.send_bytes(
            pane_id, b"".join(encode_mouse(event, mode.encoding) for event in events)
        )
        return PaneDone(pane_id)

    return await act(ctx, pane_id, send, until=until, timeout_ms=timeout_ms)


def _parse_drag_end(action: str, button: str, row: int | None, column: int | None) -> list[tuple[int, int]]:
    """Return the place where a drag ends; none for other actions."""
    if is_wheel(button) and action not in ("click", "press"):
        raise BadInput(f"The argument 'action' must be click for {button}, not {action}.")
    if action != "drag":
        if row is not None or column is not None:
            raise BadInput("The arguments 'toRow' and 'toColumn' are for the action drag.", "Leave them out.")
        return []
    if row is None or column is None:
        raise BadInput("The action drag needs 'toRow' and 'toColumn'.", "Give the place where it ends.")
    return [(row, column)]


def _refuse_unwanted(pane: PaneId, mode: MouseMode, places: list[tuple[int, int]]) -> None:
    """Raise an error if the program does not want the mouse, or cannot be told these places."""
    if not mode.is_on:
        raise Refused(
            f"The program in pane {pane!r} has not asked for the mouse. Nothing was sent.",
            "Use its keys with send-keys.",
        )
    for row, column in places:
        if row >= mode.height or column >= mode.width:
            raise BadInput(
                f"Row {row}, column {column} is outside of the screen of {mode.height} rows and "
                f"{mode.width} columns.",
                "Rows and columns count from 0.",
            )
        if max(row, column) > mode.encoding.value:
            raise Refused(
                f"The program's mouse events end at row and column {mode.encoding.value}. Nothing was sent.",
                "Make the pane smaller with resize-pane.",
            )


def _list_events(
    action: str, button: str, places: list[tuple[int, int]], *, has_motion: bool
) -> Iterator[MouseEvent]:
    """Yield the events of an action. Motion is sent only to a program that wants it, as terminals do."""
    if action != "release":
        yield MouseEvent("press", button, *places[0])
    if action == "drag" and has_motion:
        yield MouseEvent("motion", button, *places[-1])
    if action != "press" and not is_wheel(button):
        yield MouseEvent("release", button, *places[-1])


TOOLS = (read_screen, send_mouse)
