"""The table of triggers: how each is written, and when it fires.

To add a trigger, add a row to `_ROWS` and the function of its hook. `trigger.py` explains the hooks.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from muxpilot.errors import BadInput
from muxpilot.processes.repl_prompts import is_known_prompt, recognize_prompt
from muxpilot.processes.screen_programs import describe_screen_program
from muxpilot.terminal.lines import LineBatch
from muxpilot.terminal.prompt_signs import looks_like_remote_shell_prompt
from muxpilot.watch.error_words import ErrorMatcher
from muxpilot.watch.line_matcher import LineMatcher
from muxpilot.watch.probes import Probes
from muxpilot.watch.trigger import (
    NEVER,
    Activity,
    Alarm,
    Ending,
    ForegroundCheck,
    ParseTrigger,
    Trigger,
    TriggerSource,
    TriggerType,
)
from muxpilot.watch.urls import LOOPBACK_ONLY, parse_url

# The arguments that name triggers. `until` waits for what an input does, and knows `prompt` besides.
ARGUMENT, UNTIL = "triggers", "until"

_DAY_S = 86_400
_MOST = 32


# How a trigger is written


def _parse_without_value(kind: TriggerType, word: str, text: str, source: TriggerSource) -> Trigger:
    if word != kind.name:
        raise BadInput(f"The trigger {word[:60]!r} takes no value.", f"Write {kind.name!r}.")
    return Trigger(word, kind)


def _parse_number(low: float, high: int, what: str, *, example: int, is_whole: bool) -> ParseTrigger:
    """Return a parser for a number in a range; `what` names it in the error."""
    digits = r"\d{1,9}" if is_whole else r"\d{1,9}(\.\d{1,6})?"

    def parse(kind: TriggerType, word: str, text: str, source: TriggerSource) -> Trigger:
        """Return the trigger, or raise BadInput with the range that is allowed."""
        if not re.fullmatch(digits, text, re.ASCII) or not low <= float(text) <= high:
            raise BadInput(
                f"The trigger {word[:60]!r} needs {what} from {low} to {high}.",
                f"Write {kind.name}:{example}.",
            )
        return Trigger(word, kind, number=float(text))

    return parse


def _parse_error(kind: TriggerType, word: str, text: str, source: TriggerSource) -> Trigger:
    _parse_without_value(kind, word, text, source)
    return Trigger(word, kind, matcher=ErrorMatcher())


def _parse_pattern(kind: TriggerType, word: str, text: str, source: TriggerSource) -> Trigger:
    if not text:
        raise BadInput(f"The trigger {word!r} has no pattern.", "Write pattern:REGEX.")
    return Trigger(word, kind, text=text, matcher=LineMatcher(text, source.argument, item=word[:200]))


def _parse_address(kind: TriggerType, word: str, text: str, source: TriggerSource) -> Trigger:
    return Trigger(word, kind, text=text, address=parse_url(text, source.hosts))


def _parse_path(kind: TriggerType, word: str, text: str, source: TriggerSource) -> Trigger:
    if not text or "\0" in text:
        raise BadInput(f"The trigger {word[:60]!r} names no file.", "Write file:PATH.")
    return Trigger(word, kind, text=text)


# When a trigger fires


def _describe_error(trigger: Trigger, line: str) -> str:
    return f"Matched error pattern: {line}"


def _describe_pattern(trigger: Trigger, line: str) -> str:
    return f'Matched pattern "{trigger.text}": {line}'


def _describe_readiness(trigger: Trigger, line: str) -> str:
    return f"Ready — matched: {line}"


def _check_bell(batch: LineBatch) -> str | None:
    return "The pane rang its bell" if batch.bells else None


def _check_change(batch: LineBatch) -> str | None:
    return "The screen changed" if batch.is_change else None


def _check_last_change(ending: Ending) -> str | None:
    return "The pane's program ended" if ending.is_pane and ending.is_new else None


def _check_exit(check: ForegroundCheck) -> str | None:
    return check.ending.describe() if check.ending is not None else None


def _check_prompt(check: ForegroundCheck) -> str | None:
    state = check.state
    return f"{state.foreground_cmd} is at its prompt" if state.is_at_shell_prompt else None


def _check_next_prompt(check: ForegroundCheck) -> str | None:
    """Return the detail if a shell or a REPL shows its prompt again, where no mark reports that."""
    if not check.has_moved_on or not check.line.strip():
        return None
    is_prompt = check.state.is_at_shell_prompt or _shows_prompt(check)
    return f"{check.state.foreground_cmd} is at its prompt" if is_prompt else None


def _shows_prompt(check: ForegroundCheck) -> bool:
    """Return whether a program that may wait for a line shows a prompt: a known one, or the one before."""
    state = check.state
    if state.is_known and state.waiting_for not in ("line", "key"):
        return False
    if is_known_prompt(check.line, state.foreground_cmd):
        return True
    if state.is_remote and not state.is_known and looks_like_remote_shell_prompt(check.line):
        return True
    before = recognize_prompt(check.line_before, state.foreground_cmd)
    return bool(check.line_before.strip()) and before.without_prompt(check.line) is not None


def _report_prompt() -> str:
    return "The shell is at its prompt"


def _check_input(check: ForegroundCheck) -> str | None:
    state = check.state
    if state.waiting_for is None or state.is_at_shell_prompt:
        return None
    if state.waiting_for in ("pager", "editor"):
        return describe_screen_program(state.foreground_cmd)
    return f'Process "{state.foreground_cmd}" is waiting for user input'


def _check_password(check: ForegroundCheck) -> str | None:
    state = check.state
    if state.waiting_for != "password":
        return None
    return f'Process "{state.foreground_cmd}" reads with the echo off'


def _when_idle(trigger: Trigger, activity: Activity) -> Alarm:
    return activity.last_output + trigger.number, f"No new output for {trigger.number:g}s"


def _when_quiet(trigger: Trigger, activity: Activity) -> Alarm:
    changed = activity.last_change
    due = changed + trigger.number / 1000 if changed is not None else NEVER
    return due, f"Nothing changed for {trigger.number:g} ms"


async def _probe_port(trigger: Trigger, probes: Probes, folder: str) -> str:
    return await probes.wait_for_port(int(trigger.number))


async def _probe_address(trigger: Trigger, probes: Probes, folder: str) -> str:
    assert trigger.address is not None
    return await probes.wait_for_answer(trigger.address)


async def _probe_file(trigger: Trigger, probes: Probes, folder: str) -> str:
    return await probes.wait_for_file(trigger.text, folder)


_parse_seconds = _parse_number(0.01, _DAY_S, "a number of seconds", example=5, is_whole=False)
_parse_port = _parse_number(1, 65_535, "a port", example=8000, is_whole=True)
_parse_ms = _parse_number(1, 1000 * _DAY_S, "a number of milliseconds", example=500, is_whole=True)

_ROWS = (
    TriggerType("exit", _parse_without_value, on_end=Ending.describe, on_state=_check_exit),
    TriggerType("shell", _parse_without_value, on_state=_check_prompt),
    TriggerType("user_input", _parse_without_value, on_state=_check_input),
    TriggerType("password", _parse_without_value, on_state=_check_password),
    TriggerType("error", _parse_error, describe_line=_describe_error),
    TriggerType("bell", _parse_without_value, on_output=_check_bell),
    TriggerType("idle", _parse_seconds, "S", on_clock=_when_idle),
    TriggerType("pattern", _parse_pattern, "REGEX", is_free_text=True, describe_line=_describe_pattern),
    TriggerType("port", _parse_port, "N", probe=_probe_port),
    TriggerType("url", _parse_address, "URL", is_free_text=True, probe=_probe_address),
    TriggerType("file", _parse_path, "PATH", is_free_text=True, probe=_probe_file),
    TriggerType("change", _parse_without_value, on_output=_check_change, on_end=_check_last_change),
    TriggerType("quiet", _parse_ms, "MS", on_clock=_when_quiet),
)
TRIGGERS = {row.name: row for row in _ROWS}
_PROMPT = TriggerType("prompt", _parse_without_value, on_state=_check_next_prompt, on_prompt=_report_prompt)
_BY_ARGUMENT = {ARGUMENT: TRIGGERS, UNTIL: {**TRIGGERS, _PROMPT.name: _PROMPT}}
# The pattern of start-and-watch: written by itself, and reported as a pattern with other words.
_READINESS = TriggerType(
    "pattern", _parse_pattern, "REGEX", is_free_text=True, describe_line=_describe_readiness
)


def readiness_trigger(pattern: str) -> Trigger:
    """Return the trigger for the line that says that a started command is ready."""
    if not pattern:
        raise BadInput("The argument 'pattern' is empty.", "Give a line that says that it is ready.")
    return Trigger(f"pattern:{pattern}", _READINESS, text=pattern, matcher=LineMatcher(pattern, "pattern"))


def quiet_trigger(seconds: float) -> Trigger:
    """Return a trigger for a pane that has changed and then not changed for some time."""
    return Trigger("quiet", TRIGGERS["quiet"], number=seconds * 1000)


def parse_triggers(
    given: str | Sequence[str], *, hosts: tuple[str, ...] = LOOPBACK_ONLY, argument: str = ARGUMENT
) -> tuple[Trigger, ...]:
    """Return the triggers of a list with one each, or of a text with commas between them.

    `argument` is the name of the argument that they are from.
    """
    rows = _BY_ARGUMENT[argument]
    words = _split(given, rows) if isinstance(given, str) else list(given)
    if not words:
        raise BadInput(f"The argument {argument!r} names nothing to wait for.", _list_triggers(rows))
    if len(words) > _MOST:
        raise BadInput(f"The argument {argument!r} has {len(words)} triggers.", f"Use at most {_MOST}.")
    source = TriggerSource(argument, hosts)
    return tuple(_parse(word.strip(), rows, source) for word in words)


def refuse_local_triggers(wanted: Sequence[Trigger], *, is_remote: bool) -> None:
    """Refuse triggers for ports, URLs and files if the pane is on another host: they look at this one."""
    here = [trigger.word for trigger in wanted if trigger.looks_at_this_machine]
    if here and is_remote:
        raise BadInput(
            f"The trigger {here[0]!r} looks at this machine, but the pane is on another host.",
            "Use pattern: or exit, or a command that waits.",
        )


def _split(text: str, rows: Mapping[str, TriggerType]) -> list[str]:
    """Split at commas before the name of a trigger: any other comma may belong to a free-text value."""
    words: list[str] = []
    for part in re.split(rf",\s*(?=(?:{'|'.join(rows)})\s*(?:[:,]|\Z))", text):
        row = rows.get(part.strip().partition(":")[0])
        words += [part] if row is not None and row.is_free_text else part.split(",")
    return [word for word in words if word.strip()]


def _parse(word: str, rows: Mapping[str, TriggerType], source: TriggerSource) -> Trigger:
    name, _, text = word.partition(":")
    row = rows.get(name)
    if row is None:
        raise BadInput(
            f"{word[:60]!r} in the argument {source.argument!r} is not a trigger.", _list_triggers(rows)
        )
    return row.parse(row, word, text, source)


def _list_triggers(rows: Mapping[str, TriggerType]) -> str:
    return f"Use some of: {', '.join(row.example for row in rows.values())}."
