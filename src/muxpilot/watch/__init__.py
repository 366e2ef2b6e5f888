"""Watches: wait until something happens in a pane, and report it at once.

triggers         the table of triggers: how each is written, and when it fires
trigger          what a row of that table is, and what its hooks get
pane_watch       one watch: reads the pane's stream, the clock and the system; the first trigger ends it
trigger_matcher  matches the pane's output against the triggers
error_words      which lines report an error
mark_tracker     the marks of the pane's shell: which bytes are typing, and how commands end
foreground       the foreground program of the pane over time
probes           ports, addresses and files
watch_start      where a watch begins, and what is known then
start            the ways to begin: now, or with a command that the watch runs
act_and_see      an input and the watch for what it does
registry         all watches; those in the background have an id
result           the answer: event, output and state of the pane
"""
