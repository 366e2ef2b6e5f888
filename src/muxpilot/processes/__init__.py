"""Processes and terminals: the one home of /proc, termios, `ps` and `stty`.

proc               reads files under /proc (Linux)
identity           tells a process from a later one with the same pid
terminal_mode      reads the mode of a terminal, here by termios and on another host by `stty`
raw_terminal       sets a terminal of our own to raw mode
quick_checks       cheap questions about a process, asked often
foreground_group   the processes in the foreground of a terminal
system_calls       what a thread is blocked in
decide             from these facts to what the foreground program waits for
linux_state, darwin, remote   the same question, asked on Linux, on macOS and on another host
state              asks the right one of these three; start reading here
ports              the TCP ports on which a process of this machine listens
process_tree       all processes of a pane, also those that left its terminal
shared_services    programs that do not end with the pane that started them
end_processes      ends a process tree: SIGHUP, SIGTERM, SIGKILL
far_process_tree   the same on another host, by a script of sh
"""
