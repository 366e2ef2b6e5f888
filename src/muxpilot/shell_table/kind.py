"""The fields of a row: what muxpilot must know about a shell."""

from __future__ import annotations

from muxpilot.records import record


@record
class ShellKind:
    """One kind of shell. A shell without `script` is recognized, but has no integration script."""

    name: str  # in `SHELLS` and in the mark that says that the integration is loaded

    # How the shell is recognized.
    programs: tuple[str, ...] = ()  # names of its program; rbash, ksh93 and bash-5.2 are understood as well
    version_variable: str = ""  # the shell sets this variable
    version_pattern: str = "."  # and its value matches this
    installed_as: str = ""  # the program that `muxpilot doctor` looks for
    is_setting: bool = False  # the setting `shell.type` offers it

    # How the shell is started in a new pane, by the launcher's /bin/sh script (tmux/objects/launch.py).
    start_pattern: str = ""  # matches the base name of $SHELL in a `case`; such a shell takes `-l`
    start_line: str = ""  # starts "$SHELL" so that it reads our file in the folder "$3" first
    start_file: str = ""  # the name of that file in the folder
    start_script: str = ""  # its first part: it reads the person's own start-up files; the marks follow
    start_end: str = ""  # its last part
    own_startup_file: str = ""  # the file in $HOME that the shell reads if ENV is not set

    # The integration that prints our marks.
    script: str = ""
    typed_script: str = ""  # goes before the script where that is loaded at a prompt
    load_line: str = ""  # runs the integration, for a script that only defines functions
    source: str = "\\."  # the command that reads a file into the shell
    printf: str = "\\command printf"  # prints, whatever a person has called printf
    keep_status_line: str = "__muxpilot_status=$?\n"
    restore_status_line: str = '\\eval "\\unset __muxpilot_status; (\\exit $__muxpilot_status)"\n'

    # What a command's text and output look like at its prompt.
    marks_start: bool = False  # a mark says where a command's output begins; else output follows the echo
    takes_paste: bool = False  # a bracketed paste of several lines is one edit; else type line by line
    takes_pasted_tabs: bool = False
    has_key: bool = False  # our private key makes the shell say how much is typed at its prompt
    # The number in its marks grows with each prompt, and not when a command begins. So the key's answer shows
    # whether a command has ended. Its status is still known when our marks are loaded again.
    numbers_ends: bool = False
    decorates_echo: bool = False  # its editor draws a line with colours and suggestions
    special_characters: str = ""  # these mean something only to an interactive shell; the key prevents it
    line_error: bytes = b""  # the editor keeps a wrong line, and prints an error that begins with this
    drops_early_keys: bool = False  # its editor ignores Ctrl-C while a key binding runs
    reports_stop_as_success: bool = False  # the status after C-z is 0, not 128 plus the signal
    keeps_status_at_stop: bool = False  # the status after C-z is that of the command before

    # How the process detector distinguishes its prompt from its builtin `read` (processes/decide.py).
    has_line_editor: bool = True  # `read` does not use the editor, so a canonical read is not the prompt
    editor_keeps_return: bool = False  # only its editor turns ICRNL off; its `read -n` leaves it on
    plain_prompt_bytes: int | None = None  # without its editor it reads so much at its prompt, else 1
    read_looks_like_prompt: bool = False  # its `read` and its prompt look the same

    # Its command line.
    short_options_with_value: str = "oO"
    long_options_with_value: tuple[str, ...] = ()
    is_judged_by_policy: bool = True  # `NAME -c TEXT` runs TEXT, in a language that the policy can read
