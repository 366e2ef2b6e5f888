"""The echo of what was typed: a prompt and that text behind it are no output of anything."""

from __future__ import annotations

import re
from collections.abc import Sequence

# Such as end prompts, and a blank; ":" and ")" end other lines too often.
_PROMPT = re.compile("[$#%>\u00bb\u03bb\u203a\u276f\u279c\u27e9] +$")


def is_echo(line: str, typed: Sequence[str]) -> bool:
    """Whether a line is a prompt with the last line of one of these texts."""
    shown = line.rstrip()
    for text in typed:
        wanted = text.rstrip().rpartition("\n")[2].strip()
        if wanted and shown.endswith(wanted) and _PROMPT.search(shown.removesuffix(wanted)):
            return True
    return False
