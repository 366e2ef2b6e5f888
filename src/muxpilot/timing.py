"""How long muxpilot waits, and for what: every timing constant of shells, REPLs, watches,
jobs, questions, sessions and connections into containers.

Each field says what the number protects from. Tests pass records with smaller numbers.
"""

from __future__ import annotations

from muxpilot.records import record


@record
class ShellTiming:
    """Times of commands in shells (`shells/`), in seconds where the name does not say otherwise."""

    # Before a command is typed: is the shell at an empty prompt?
    # How often that is checked: at first, and at most after checks that found no change.
    first_prompt_check_s: float = 0.05
    longest_prompt_check_s: float = 1.0
    # What is in front of a command must stay there for this time before the pane counts as occupied: a line
    # that a person has just typed is about to run. Callers are told within a second.
    occupied_s: float = 0.5
    occupied_check_s: float = 0.2
    # A shell that is still starting is waited for so long before it counts as a program.
    shell_start_s: float = 10.0
    # How long a call waits before it answers that its command is queued, without knowing what is in front.
    admission_s: float = 0.9
    # A muxpilot that is stopped (SIGSTOP) for longer loses its commands to another one.
    stopped_owner_s: float = 1.0
    # How often it is looked whether the muxpilot that is responsible for a command still lives.
    owner_check_s: float = 0.5
    # A person's line must be seen after each of these pauses: C-u, which removes it, takes effect a moment
    # after it was sent.
    half_typed_checks_s: tuple[float, ...] = (0.0, 0.05, 0.15)
    # How often a call whose command is queued looks whether the command before it waits for input.
    queue_check_s: float = 0.25
    # A pane that printed more recently is busy: its program may not have printed its prompt yet.
    busy_s: float = 0.15
    # A shell that we started loads our marks after its own start-up files. Loading them once more before
    # that would type into the start-up.
    start_s: float = 0.7
    # Inside ssh only the text on the screen says that a shell is at its prompt. A pause in a remote
    # program's output must not be taken for one.
    remote_quiet_s: float = 0.4
    # The look after that time comes so much later: a timer that fires early would find it not yet over.
    quiet_margin_s: float = 0.005
    # Our private key answers at once, unless the binding is gone.
    key_answer_s: float = 0.5
    # bash removes a half-typed line before our key answers, and draws it again: at once, if it gets the CPU.
    line_drawn_s: float = 3.0
    # After a key the line editor draws the line again. Bytes of that must not count as typed text.
    redraw_quiet_s: float = 0.03
    redraw_quiet_tries: int = 20
    # Shells without a start mark print the prompt before they turn the echo off. A line typed earlier
    # would be echoed twice.
    shell_reads_s: float = 1.0
    shell_reads_tries: int = 50
    # Ctrl-C at an incomplete line brings the prompt back. fish ignores keys meanwhile, so it gets several.
    clear_line_s: float = 1.5
    clear_line_tries: int = 10

    # Loading our marks into a shell that is at its prompt already.
    # A program that is not a shell does not answer the line that asks for the version.
    version_answer_s: float = 3.0
    # A busy machine takes a while to read a script of 4 kB.
    load_s: float = 10.0
    # Whether text is typed at a prompt: Ctrl-A moves the cursor if there is. A busy shell takes a while.
    cursor_check_s: float = 0.1
    cursor_checks: int = 6

    # While a command runs.
    # fish keeps an incomplete or wrong line in its editor without a mark. After this time we ask by key.
    command_start_s: float = 0.3
    command_start_checks: int = 10
    # After a pause in the output: does the command wait for input? First, and at most, between checks.
    first_input_check_s: float = 0.15
    longest_input_check_s: float = 5.0
    # The shortest wait for a change before the next such check, so that a check that is due does not spin.
    shortest_input_wait_s: float = 0.01
    # A line that was typed is shown and taken at once, unless the machine is busy. Until then the shell reads
    # for its prompt, not for the command.
    line_taken_s: float = 3.0
    # A program that reads a line without a question may only have paused: say so after this time.
    unasked_input_s: float = 0.6
    # tmux may show a prompt whose bytes are still on their way to us. After this time we judge anyway.
    stream_lag_s: float = 1.0
    # A command that ran longer may hide keys that a person typed ahead.
    typeahead_s: float = 0.05
    # A line that a person typed just before ours looks like ours. If no second command starts within this
    # time, it was ours. Less than `first_input_check_s`, so that the result comes first.
    confirm_s: float = 0.13
    # A status without a prompt mark ends the command after this time: the prompt has lost its mark.
    prompt_after_status_s: float = 0.3

    # When a pane or a command ends.
    # Bytes that are in the stream already are read before the pane is judged.
    read_stream_s: float = 5.0
    # A pane's last output comes by another connection than the notice of its end.
    last_output_s: float = 0.05
    # How long tmux may take to notice that a pane's process has ended.
    dead_pane_s: float = 2.0
    dead_pane_checks: int = 200
    # remain-on-exit stays set this long after a command, because the next command often follows at once.
    release_pane_s: float = 1.0
    # Over ssh a dead pane is noticed before its stream says how it ended: its journal is read first.
    remote_end_s: float = 10.0
    # cancel-command waits this long for Ctrl-C to take effect, then answers.
    interrupt_s: float = 2.0
    # A shell that drops early keys, and waits for the rest of a command, gets Ctrl-C again after this time.
    interrupt_again_s: float = 0.3
    # An answer that was just typed has not reached the program yet.
    answer_arrival_s: float = 0.1
    # `exit` in an inner shell was typed; the outer command ends when the inner shell has gone.
    inner_shell_exit_s: float = 0.5
    # How often commands that are too old are looked for. To look at each command costs more than to run it.
    forget_every_s: float = 10.0


@record
class ReplTiming:
    """Times of dialogues with programs (`repl/`), in seconds."""

    # Before an input is typed: does a program wait for it?
    ready_check_s: float = 0.02
    # A shell that is at its prompt may be about to start the program.
    program_start_s: float = 0.5
    # A full-screen program may be about to end, by a key that was pressed before.
    full_screen_end_s: float = 0.5
    # How long the pane must be quiet before its last line counts as the prompt: a prompt that we know, any
    # other text, and an empty line or a program whose state the system does not show.
    known_prompt_s: float = 0.02
    other_prompt_s: float = 0.1
    empty_prompt_s: float = 0.3
    # tmux may show a prompt whose bytes are still on their way to us. After this time we judge anyway.
    stream_lag_s: float = 0.5

    # While an input is typed in pieces: each piece waits for the prompt of the next line.
    echo_s: float = 2.0

    # After an input: has the program answered?
    # The program's state is read after so much silence, and then again after each of these.
    state_checks_s: tuple[float, ...] = (0.01, 0.03, 0.06, 0.1, 0.2, 0.3, 0.45, 0.65, 1.0)
    longest_state_check_s: float = 0.5
    # Output that the program printed before it began to wait may still be on its way: it must be seen to
    # wait for this time.
    output_arrival_s: float = 0.018
    # The check after that time comes so much later: a timer that fires early would find it not yet over.
    timer_margin_s: float = 0.001
    # How long the program must be silent at its prompt, at a continuation prompt, at an empty prompt, when
    # it asks for a password, and when it asks for anything else.
    prompt_s: float = 0.03
    continuation_s: float = 0.06
    empty_line_s: float = 0.15
    password_s: float = 0.15
    question_s: float = 0.6
    # The same when a pager or an editor is in front, and at a menu, which takes keys and shows no prompt.
    screen_program_s: float = 0.2
    menu_s: float = 0.65
    # The same where only the text on the screen says that it waits.
    by_look_s: float = 0.3
    # A program that has ended leaves its last output and the shell's prompt.
    exit_s: float = 0.3
    # After the program has ended, its command's exit code is waited for.
    exit_code_s: float = 1.0


@record
class WatchTiming:
    """Times of watches (`watch/`), in seconds."""

    # A line without an end counts as a line after this pause: prompts have no newline. Shorter, and the two
    # halves of a line that a slow program prints would be matched one by one.
    open_line_s: float = 0.12
    # The foreground program is looked at after this much silence, and then again, ever less often: reading
    # /proc for every chunk of output, or all the time in an idle pane, would cost more than the output.
    state_checks_s: tuple[float, ...] = (0.15, 0.3, 0.6, 1.2, 2.0)
    # The rarest checks of all watches fall on the same moments, this far apart: together they cost a fifth.
    shared_check_s: float = 1.0
    # While output comes, the foreground group is read this often at most. A command that never falls silent
    # would otherwise not be noticed.
    foreground_check_s: float = 0.02
    # The reader of the pane's marks may be behind the stream when a watch begins. Wait for it, or the watch
    # takes the rest of an old command for new output. Also when the system shows that a command has ended.
    marks_catch_up_s: float = 1.0

    # A shell that has printed its prompt reads within a few milliseconds. pane-state waits for that, so often
    # and so long, or it would report a prompt as a busy shell.
    settle_checks: int = 10
    settle_check_s: float = 0.01

    # A program draws its screen in several writes. After an input the screen is read when nothing was printed
    # for this long, or after so many checks.
    drawn_check_s: float = 0.03
    drawn_checks: int = 10

    # Ports, addresses and files: the pause after the first look, its growth, and its limit. Short at first,
    # because most servers are ready within a second; bounded, because a look costs time of the processor.
    first_probe_pause_s: float = 0.05
    probe_pause_growth: float = 1.3
    longest_probe_pause_s: float = 0.25
    # One reading of the kernel's table of ports serves all watches that ask within this time.
    ports_fresh_s: float = 0.04
    # A server that accepts a connection and does not answer is not ready.
    connect_s: float = 2.0

    # Progress is reported this often at most, however many lines come: a client must not be flooded.
    shortest_progress_s: float = 0.05
    # A client that does not accept the notice of a watch's end must not delay the answer.
    end_notice_s: float = 1.0


@record
class JobTiming:
    """Times of jobs (`jobs/`) and of recordings (`record/`), which are jobs, in seconds."""

    # How often a muxpilot looks whether the owners of other muxpilots' jobs live. No event tells that.
    owner_check_s: float = 1.0
    # A stopped owner may go on at once, as after Ctrl-Z and fg. After this time its watches are taken over.
    stopped_owner_s: float = 5.0
    # An answer about a watch that was taken over just now waits until what was printed before is checked.
    past_output_s: float = 5.0
    # A recording's place in its file is written down this often at most. After a SIGKILL, what was printed
    # after the last time gets the time of the takeover.
    recording_progress_s: float = 1.0
    # Another muxpilot that was asked to stop a recording reads what the pane has printed, and answers.
    stop_by_owner_s: float = 8.0
    # While a recorded pane prints, its size is compared this often at most: each look is a request to tmux.
    recorded_size_check_s: float = 0.1
    # A recording that is stopped first writes what the pane has printed. After this time it stops anyway.
    recording_stop_s: float = 5.0
    # How often it is tried to open the file of a recording that is taken over while its last owner writes it.
    recording_reopen_s: float = 0.2


@record
class PeopleTiming:
    """Times of questions to people (`people/`), in seconds."""

    # A client that declines sooner than a person can read does so by itself: it cannot ask.
    shortest_answer_s: float = 0.25
    # A popup does not cover a person who types: it waits for a pause, for a bounded time. tmux tells the time
    # of the last key in whole seconds.
    typing_pause_s: float = 2.0
    pause_check_s: float = 0.25
    longest_pause_wait_s: float = 10.0
    # tmux starts the program of the popup within this time, or the popup counts as impossible.
    popup_start_s: float = 10.0
    # A popup whose question is settled closes within this time, or its tmux is not waited for.
    popup_close_s: float = 2.0
    # After a wrong code the next popup comes so much later, and twice as late after each further one. A
    # program that guesses all night has a chance of about 1 in 200.
    wrong_code_s: float = 5.0
    longest_wrong_code_s: float = 600.0
    # How often a terminal that shows another popup is tried again.
    busy_client_check_s: float = 0.5
    # How often it is looked whether a view page still runs.
    page_check_s: float = 1.0
    # A program that was just started prints its prompt for the secret a moment later.
    secret_prompt_s: float = 3.0
    secret_prompt_check_s: float = 0.1


@record
class IdleTiming:
    """Times of sessions that are ended when nothing uses them (`idle_sessions/`), in seconds."""

    # After the start of a server. The first requests of a client come before.
    first_look_s: float = 1.0
    # After a change of sessions: a new session gets its limit after it is created.
    settle_s: float = 1.0
    # Between two looks at sessions that can expire.
    shortest_pause_s: float = 1.0
    # A session that is in use after its limit is looked at this often at least: no event tells that a person
    # has detached from it.
    longest_pause_s: float = 300.0


@record
class ConnectionTiming:
    """Times of the connection to a tmux server (`tmux/connection/`), in seconds."""

    # While a tmux server or our client ends, it is tried for so long to connect or to start another one.
    retry_limit_s: float = 2.0
    retry_pause_s: float = 0.02
    # How long the lock for attaching is waited for. When our client leaves, others may be attaching.
    detach_lock_s: float = 1.5
    session_lock_s: float = 2.0
    # Not longer: if the connection breaks while a paste buffer changes, the next one waits for the lock.
    buffer_lock_s: float = 10.0


@record
class ProcessEndTiming:
    """How long each step of ending a process tree may take (`processes/end_processes.py`), in seconds."""

    # A shell that gets SIGHUP passes it on to its jobs and saves its history.
    hangup_s: float = 0.7
    # Processes that got no SIGHUP may end with their parents, or with the end of a pipe.
    settle_s: float = 0.15
    # Programs get this long to clean up after SIGTERM.
    terminate_s: float = 0.5
    # Nothing is waited for after this time, from the beginning of the first step.
    all_s: float = 1.8
    pause_s: float = 0.01


@record
class HeartbeatTiming:
    """Times of the heartbeat into a container (`tmux/connection/heartbeat.py`), in seconds."""

    # Each costs a line to tmux there now, and an `sh` there after the limit.
    interval_s: float = 30.0
    # When our clients there end. A busy machine must get some heartbeats through in that time.
    limit_s: float = 120.0


@record
class Timing:
    """The times that a test can shrink in a whole application: `app` gives each subsystem its part."""

    shells: ShellTiming = ShellTiming()
    repl: ReplTiming = ReplTiming()
    watch: WatchTiming = WatchTiming()
    jobs: JobTiming = JobTiming()
    people: PeopleTiming = PeopleTiming()
    idle: IdleTiming = IdleTiming()
