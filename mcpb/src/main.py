"""The entry point of the .mcpb bundle: muxpilot's own command line."""

from __future__ import annotations

import sys

from muxpilot.cli.main import main

sys.exit(main())
