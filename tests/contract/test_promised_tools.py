"""Checks the tools against what was promised: names, arguments with their defaults, and answer fields."""

from __future__ import annotations

import json
from collections.abc import Iterator

from muxpilot.tools import TOOLS

# Tool | arguments: `?` may be left out, `=` has that default | fields of the answer; none where it is text.
PROMISED = """
socket-for-path | path | path socket
list-sessions | | sessions
find-session | name | id name windows attached created
get-current-session | | id name windows attached created
create-session | name? command? windowName? cwd? env? width=200 height=50 ttlMinutes? | sessionId sessionName windowId paneId created
rename-session | sessionId newName? name? | sessionId name
kill-session | sessionId | killed processes
list-windows | sessionId? | windows
create-window | sessionId name? command? cwd? env? | windowId windowName windowIndex paneId sessionId
rename-window | windowId name | windowId name
select-window | windowId | windowId
kill-window | windowId | killed processes
move-window | windowId targetSessionId targetIndex? | windowId sessionId index
select-layout | windowId layout | windowId layout
set-synchronize-panes | windowId enabled | windowId synchronized
list-panes | windowId? sessionId? | panes
split-pane | paneId direction=vertical size? command? cwd? env? | paneId windowId
rename-pane | paneId title | paneId title
select-pane | paneId | paneId
zoom-pane | paneId | paneId zoomed
resize-pane | paneId width? height? direction? amount=5 | paneId width height
join-pane | sourcePaneId targetPaneId | paneId windowId
swap-pane | sourcePaneId targetPaneId | sourcePaneId targetPaneId
break-pane | paneId name? | windowId windowName paneId
kill-pane | paneId | killed processes
respawn-pane | paneId command? kill=false | paneId
list-clients | | clients
detach-client | clientTty | clientTty
list-servers | | servers
display-message | message duration=3 paneId? | shown
capture-pane | paneId=main lines? colors=false start? end? join=false |
read-pane | paneId=main since? maxLines=100 grep? | paneId text cursor newLines missedLines truncated alternateScreen
search-panes | query mode=literal paneIds? sessionId? maxMatches=50 contextLines=2 | matches truncated
read-screen | paneId=main rows? columns? | paneId width height rows cursor highlighted title alternateScreen
screenshot-pane | paneId=main output=image theme=dark path? |
record-pane | paneId=main action path? | paneId recording path seconds bytes
send-keys | paneId=main keys literal=true enter=false repeat=1 delayMs? force=false until? timeoutMs=5000 | paneId
paste-text | paneId=main content enter=false force=false until? timeoutMs=5000 | paneId bytes
send-hex | paneId=main hex | paneId bytes
send-mouse | paneId=main row column button=left action=click toRow? toColumn? until? timeoutMs=5000 | paneId
write-to-display | paneId=main text clear=false | paneId
execute-command | paneId=main command timeoutSeconds=30 waitMs? queue=false cwd? env? rawMode=false noEnter=false delayMs? maxOutputBytes=16384 | commandId paneId pane status exitCode output outputTruncated timedOut waitingForInput waitingFor elapsedMs cursor
get-command-result | commandId waitMs=0 maxOutputBytes=16384 offsetBytes? | commandId paneId pane status exitCode output outputTruncated timedOut waitingForInput waitingFor elapsedMs cursor
list-commands | paneId? | commands
cancel-command | commandId | commandId status
run-on | command panes timeoutSeconds=30 maxParallel=16 | results completed failed
run-in-repl | paneId=main input promptPattern? timeout=10 | paneId pane output exited timedOut waitingFor cursor
pane-state | paneId=main | paneId panePid foregroundPid foregroundCmd isAlive waitingForInput waitingFor exitCode alternateScreen currentPath
start-and-watch | command pattern paneId=main cwd? env? mode=quick triggers=exit,error timeout=60 | paneId pane event detail elapsed output paneState cursor
watch-pane | paneId=main mode=medium triggers=exit,user_input,error timeout=60 since? | paneId pane event detail elapsed output paneState cursor
wait-for-pane-change | paneId=main timeoutMs? stableMs? | paneId changed timedOut waitedMs quietMs
notify-when | paneId=main triggers=exit,user_input,error timeout=3600 | watchId
get-watch | watchId | watchId paneId status
cancel-watch | watchId | watchId cancelled
list-buffers | | buffers
show-buffer | name? offsetBytes=0 maxBytes=65536 |
save-buffer | name path |
load-buffer | name path |
set-buffer | name content |
append-buffer | name content |
delete-buffer | name |
rename-buffer | from to |
search-buffer | query mode buffer? buffers? contextBytes=40 maxMatches=50 maxScanBytes=65536 includeSimilarity=false fuzzyMatch=false similarityThreshold? resumeFromOffset? | matches
subsearch-buffer | anchor query mode contextBytes buffer? maxMatches=50 includeSimilarity=false fuzzyMatch=false similarityThreshold? resumeFromOffset? | matches
ask-person | question paneId? secret=false choices? timeoutSeconds=300 | answered how answer
"""  # noqa: E501 - one row for each tool
ONE_KEY = (
    *("cancel", "eof", "escape", "enter", "tab", "backspace", "up", "down", "left", "right"),
    *("page-up", "page-down", "home", "end"),
)
ROWS = {
    name.strip(): (set(arguments.split()), set(fields.split()))
    for name, arguments, fields in (line.split("|") for line in PROMISED.strip().splitlines())
} | {f"send-{key}": ({"paneId=main", "until?", "timeoutMs=5000"}, {"paneId"}) for key in ONE_KEY}
OFFERED = {tool.name: tool for tool in TOOLS if tool.scopes}


def test_the_tools_are_those_that_were_promised() -> None:
    assert set(OFFERED) == set(ROWS)


def taken_by(name: str) -> Iterator[str]:
    """Yield the arguments of a tool, written as in the table."""
    for row in OFFERED[name].arguments:
        default = "" if row.is_required else "?" if row.default is None else f"={as_text(row.default)}"
        yield f"{row.wire_name}{default}"


def as_text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def test_arguments_and_defaults_are_those_that_were_promised() -> None:
    wrong = {
        name: set(taken_by(name)) ^ (wanted | {"socket?"})
        for name, (wanted, _) in ROWS.items()
        if set(taken_by(name)) != wanted | {"socket?"}
    }
    assert wrong == {}


def test_answers_have_the_fields_that_were_promised() -> None:
    missing = {
        name: fields - set((OFFERED[name].output_schema or {}).get("properties", {}))
        for name, (_, fields) in ROWS.items()
    }
    assert {name: fields for name, fields in missing.items() if fields} == {}
