"""`muxpilot send`: type a line into a pane, or press keys."""

from __future__ import annotations

from argparse import Namespace

from muxpilot.app import App
from muxpilot.cli.application import call_for_data, run_with_app
from muxpilot.cli.stderr_notes import print_note
from muxpilot.config.model import Settings
from muxpilot.errors import BadInput
from muxpilot.toolkit.answers import compact_json
from muxpilot.tools.input import send_keys


def run(settings: Settings, arguments: Namespace) -> int:
    """Type the text and press Enter; with --keys, press these keys only."""
    if bool(arguments.text) == (arguments.keys is not None):
        raise BadInput("Give either a text or --keys.", "Use --keys Enter to press only Enter.")
    return run_with_app(settings, lambda app: _send(app, arguments))


async def _send(app: App, arguments: Namespace) -> int:
    is_text = arguments.keys is None
    keys = " ".join(arguments.text) if is_text else arguments.keys
    answer = await call_for_data(
        app, send_keys, paneId=arguments.pane, keys=keys, literal=is_text, enter=is_text
    )
    if arguments.json:
        print(compact_json(answer))
    elif answer.get("hint"):
        print_note(answer["hint"])
    return 0
