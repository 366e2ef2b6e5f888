"""`python -m muxpilot`."""

from __future__ import annotations

from muxpilot.cli.main import main

if __name__ == "__main__":
    raise SystemExit(main())
