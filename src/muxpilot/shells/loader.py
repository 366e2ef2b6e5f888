"""Loading the integration into a shell that stands at its prompt already: one line, typed once.

On this machine the line names a private file. At the far end of `ssh`, `su` or `docker exec`, where that
cannot be read, the line first asks which shell it is and then reads the rest with the echo off.
"""

from __future__ import annotations

import os
import secrets
from pathlib import Path
from typing import TYPE_CHECKING

from muxpilot.errors import Refused
from muxpilot.processes.state import State
from muxpilot.shells.shell_stack import Phase
from muxpilot.shells.shell_table import Shell, one_line, shell_of, shell_of_versions, typed_script
from muxpilot.terminal.prompt_signs import looks_like_a_shell

if TYPE_CHECKING:
    from muxpilot.shells.pane_shell import PaneShell

_PATIENCE_S, _LOADED_S = 3.0, 10.0  # for an answer, and for a shell on a busy machine to take all of it
_CURSOR_S, _CURSOR_LOOKS = 0.1, 6
_INSTEAD = "Use send-keys and read-pane there."

# Every one of our shells understands this line: which shell it is, then the rest of it, read unseen.
_ASK = (
    " stty -echo;printf '\\33]133;S;%s;{token}\\7' \"$BASH_VERSION,$ZSH_VERSION,$KSH_VERSION,$FISH_VERSION\";"
    'eval "$(printf %b "$(head -n1)")";stty echo'
)
# Back over the line that loaded it, so that nobody sees it: row by row.
_WIPE_ROW = "\\033[A\\033[2K"


class Loader:
    def __init__(self, shell: PaneShell) -> None:
        self._shell = shell
        self._nonce = secrets.token_hex(16)

    async def load(self, state: State, line: str) -> str | None:
        """None when the shell is at its prompt with our marks; else what is in the way, in words."""
        if not await self._is_empty(state, line):
            return "There is text at the prompt."
        kind = shell_of(state.foreground_cmd) if state.is_shell else None
        self._shell.scanner.nonces.add(self._nonce)
        try:
            is_far = self._shell.row.far is not None
            if kind is not None and not is_far and _reads_our_files(state.foreground_pid):
                await self._by_file(kind)
            else:
                await self._by_line()
        except BaseException:
            self._shell.scanner.nonces.discard(self._nonce)
            raise
        loaded = self._shell.layers.top
        if loaded is not None and not loaded.shell.tells_start:
            await self._shell.settled()
        return None

    async def _is_empty(self, state: State, line: str) -> bool:
        """Nothing may stand behind the prompt: ours would be joined to it, and run."""
        if looks_like_a_shell(line):
            return True
        if state.is_canonical:
            return False
        tmux, pane = self._shell.tmux, self._shell.row.id
        column = (await tmux.panes.get(pane)).cursor_column
        await tmux.input.press(pane, "C-a")
        moved = await self._leaves(column)
        await tmux.input.press(pane, "C-e")
        return not moved

    async def _leaves(self, column: int) -> bool:
        """Whether the cursor goes elsewhere; a shell on a busy machine takes its time."""
        for _ in range(_CURSOR_LOOKS):
            known = self._shell.changes
            if (await self._shell.tmux.panes.get(self._shell.row.id)).cursor_column != column:
                return True
            await self._shell.change(_CURSOR_S, since=known)
        return False

    async def _by_file(self, kind: Shell) -> None:
        file = self._shell.tmux.connection.scratch.file("i")
        line = f" {kind.source} {file}"
        wipe = await self._wiping(line)
        with os.fdopen(os.open(file, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as target:
            target.write(typed_script(kind, self._nonce, line_holds=str(file), wipe=wipe))
        try:
            await self._type(line)
            await self._loaded()
        finally:
            file.unlink(missing_ok=True)

    async def _by_line(self) -> None:
        token = secrets.token_hex(4)
        line = _ASK.format(token=token)
        wipe = await self._wiping(line)
        self._shell.scanner.nonces.add(token)
        try:
            await self._type(line)
            await self._shell.until(lambda: self._versions(token) is not None, _PATIENCE_S)
            versions = self._versions(token)
            if versions is None:
                raise Refused("What stands in the pane did not answer as a shell does.", _INSTEAD)
            kind = shell_of_versions(versions)
            text = typed_script(kind, self._nonce, line_holds=token, wipe=wipe)
            await self._type(one_line(text))
            await self._loaded()
        finally:
            self._shell.scanner.nonces.discard(token)

    def _versions(self, token: str) -> str | None:
        answered = self._shell.layers.answered
        return answered.value if answered is not None and answered.nonce == token else None

    async def _wiping(self, line: str) -> str:
        row = await self._shell.tmux.panes.get(self._shell.row.id)
        rows = 1 + (row.cursor_column + len(line)) // row.width
        return f"printf '{_WIPE_ROW * rows}\\r'\n"

    async def _type(self, line: str) -> None:
        async with self._shell.exclusive(self._shell.tmux, self._shell.row.id):
            await self._shell.tmux.input.type(self._shell.row.id, line, enter=True)

    async def _loaded(self) -> None:
        await self._shell.until(self._is_ready, _LOADED_S)
        if not self._is_ready():
            raise Refused("The shell in the pane did not take muxpilot's marks.", _INSTEAD)

    def _is_ready(self) -> bool:
        top = self._shell.layers.top
        return top is not None and top.nonce == self._nonce and top.at is Phase.PROMPT


def _reads_our_files(pid: int | None) -> bool:
    """The same user, or root, in the same file system."""
    if pid is None:
        return False
    try:
        same_root = Path(f"/proc/{pid}/root").samefile("/proc/self/root")
        same_mounts = Path(f"/proc/{pid}/ns/mnt").readlink() == Path("/proc/self/ns/mnt").readlink()
        return same_root and same_mounts and Path(f"/proc/{pid}").stat().st_uid in (0, os.getuid())
    except OSError:
        return False
