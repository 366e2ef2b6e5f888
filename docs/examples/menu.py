"""A full-screen menu: arrow keys select, Enter chooses. The argument is the number of its items."""

from __future__ import annotations

import curses
import sys

ITEMS = int(sys.argv[1]) if sys.argv[1:] else 20


def main(screen: curses.window) -> int:
    """Draw the menu until an item is chosen; return its number."""
    curses.use_default_colors()
    curses.curs_set(0)
    at = 1
    while True:
        for number in range(1, ITEMS + 1):
            style = curses.A_REVERSE if number == at else curses.A_NORMAL
            screen.addstr(number, 2, f"item {number:02}", style)
        screen.addstr(ITEMS + 2, 2, f"on {at:02} of {ITEMS}")
        screen.refresh()
        key = screen.getch()
        if key in (curses.KEY_DOWN, curses.KEY_UP):
            at = min(ITEMS, max(1, at + (1 if key == curses.KEY_DOWN else -1)))
        elif key in (10, 13):
            return at


if __name__ == "__main__":
    sys.stdout.write(f"chose {curses.wrapper(main):02}\n")
