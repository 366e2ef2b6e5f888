"""Programs that do not end with the pane that started them, because they serve more than that pane.

A terminal multiplexer has sessions of its own, in which people may work. An agent for keys or the master of
shared ssh connections serves all programs of the user. Both leave the pane when they start, and only their
environment still names it.
"""

from __future__ import annotations

from os.path import basename

from muxpilot.processes.proc import PROC, ProcessStat

# By the names that the kernel has for their processes, at most 15 characters.
MULTIPLEXERS = frozenset({"tmux: server", "screen", "SCREEN", "zellij", "dtach", "abduco", "mosh-server"})
USER_AGENTS = frozenset(
    {
        *("ssh-agent", "gpg-agent", "keyboxd", "scdaemon", "dirmngr", "dbus-daemon", "dbus-broker", "adb"),
        *("gnome-keyring-d", "pulseaudio", "pipewire", "emacs", "watchman"),
    }
)
# How OpenSSH names the process that keeps a shared connection open (ControlPersist).
_SSH_MASTER_END = "[mux]"


def is_shared_service(stat: ProcessStat) -> bool:
    """Return whether a process serves more than the pane that started it.

    It must have left the pane, so that it has no terminal: emacs in a pane is a program like any other.
    """
    if stat.tty != 0:
        return False
    if stat.name == "tmux: server":
        return _has_tmux_program(stat.pid)
    return stat.name in MULTIPLEXERS or stat.name in USER_AGENTS or _is_ssh_master(stat)


def _has_tmux_program(pid: int) -> bool:
    """Return whether a process runs tmux: any program can give itself the name of a tmux server."""
    try:
        return "tmux" in basename(PROC.exe(pid))
    except OSError:
        return True  # of another user


def _is_ssh_master(stat: ProcessStat) -> bool:
    if stat.name != "ssh":
        return False
    try:
        words = PROC.argv(stat.pid)
    except OSError:
        return False
    return bool(words) and words[0].rstrip().endswith(_SSH_MASTER_END)
