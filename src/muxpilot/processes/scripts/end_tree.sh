# Functions that find and end the processes of panes. For any POSIX shell.
#
# panes    ids of the panes whose mark counts        roots   process ids of the programs in them
# server   process id of the tmux server             socket  its socket, as tmux names it
# tree     the processes of the panes, as pid:start  said    a line for each process that got a signal
# terminals   sessions of the programs in the panes: they get SIGHUP when tmux closes the terminals

nl='
'

# Set table to a word for each running process in lines of /proc/PID/stat: pid:parent:session:start. Set
# services to those that serve more than a pane. (`read` would take one byte at a time.)
parse_stats() {
    table= services=' '
    set -f
    IFS=$nl
    set -- $1
    unset IFS
    for line; do
        pid=${line%% *}
        rest=${line#*(}
        name=${rest%)*}
        set -- ${rest#"$name) "} # ${line##*) } takes most shells a time that is quadratic in the line
        case $1 in Z | X | '') continue ;; esac
        case $2:$4 in 0:0 | 2:0) continue ;; esac # a thread of the kernel
        table="$table $pid:$2:$4:${20} "
        [ "$5" = 0 ] || continue
        case $name in @SERVICES@) services="$services$pid " ;; esac
    done
    set +f
}

# Read all processes. Without /proc the terminal stands for the session.
read_table() {
    if [ -r /proc/self/stat ]; then
        parse_stats "$(cat /proc/[0-9]*/stat 2>/dev/null)"
        return
    fi
    services=' '
    table=$(ps -A -o pid= -o ppid= -o stat= -o tty= -o lstart= | while read -r pid parent state session start; do
        case $state in Z*) continue ;; esac
        case $session in '?'* | -) session=none-$pid ;; esac
        set -- $start
        echo " $pid:$parent:$session:$1_$2_$3_$4_$5 "
    done)
}

# Set pid, parent, session and start from a word of the table.
split_row() {
    pid=${1%%:*}
    rest=${1#*:}
    parent=${rest%%:*}
    rest=${rest#*:}
    session=${rest%%:*} start=${rest#*:}
}

# Set unknown to the running processes that are not in the tree, and to the services.
find_unknown() {
    unknown=$services
    for row in $table; do
        split_row "$row"
        case $tree in *" $pid:$start "*) ;; *) unknown="$unknown$pid " ;; esac
    done
}

# Set marked to the processes in unknown whose environment names one of the panes. One grep for the ids and one
# for the server leave few files: each file that is read costs a process, and on a busy host a process is slow
# to start. Other tmux servers have panes with the same ids.
find_marked() {
    marked=
    [ -n "$panes" ] || return 0
    find_unknown
    set --
    for pane in $panes; do set -- "$@" -e "TMUX_PANE=$pane"; done
    set -- $(grep -l -F "$@" /proc/[0-9]*/environ 2>/dev/null)
    [ $# = 0 ] || set -- $(grep -l -F -e "TMUX=$socket,$server," "$@" 2>/dev/null)
    for file; do
        pid=${file#/proc/} pid=${pid%/environ}
        case $unknown in *" $pid "*) ;; *) continue ;; esac
        words=$nl$(tr '\0' '\n' 2>/dev/null <"$file")$nl
        case $words in *"${nl}TMUX=$socket,$server,"*) ;; *) continue ;; esac
        for pane in $panes; do
            case $words in *"${nl}TMUX_PANE=$pane$nl"*) marked="$marked $pid" ;; esac
        done
    done
}

# Add to found what its processes started and the members of sessions that they lead, without those in kept.
add_related() {
    more=yes
    while [ -n "$more" ]; do
        more=
        for row in $table; do
            split_row "$row"
            case $found$kept in *" $pid "*) continue ;; esac
            case $found in *" $parent "* | *" $session "*) found="$found$pid " more=yes ;; esac
        done
    done
}

add() {
    case $kept$found in *" $1 "*) return ;; esac
    case $table in *" $1:"*) found="$found$1 " ;; esac
}

# Set tree to the processes of the panes that run now, also those that were started since the last scan.
scan() {
    read_table
    find_marked
    known=$tree found=" $$ " kept=" 1 $server "
    for pid in $marked; do
        case $services in *" $pid "*) found="$found$pid " ;; esac
    done
    add_related # this shell, services with the mark of a pane, and all that they started
    kept="$kept$found$services"
    found=' '
    for pid in $marked; do add "$pid"; done
    for row in $table; do
        split_row "$row"
        case $known in *" $pid:$start "*) add "$pid" ;; esac
        case " $roots " in *" $pid "*) [ "$parent" != "$server" ] || found="$found$pid $session " ;; esac
    done
    roots= # they are known from now on
    add_related
    tree=
    for row in $table; do
        split_row "$row"
        case $found in *" $pid "*) tree="$tree $pid:$start " ;; esac
    done
}

# Set left to the processes of the tree that still run.
find_left() {
    left=
    if [ -r /proc/self/stat ]; then
        set --
        for process in $tree; do set -- "$@" "/proc/${process%%:*}/stat"; done
        [ $# = 0 ] || parse_stats "$(cat "$@" 2>/dev/null)"
    else
        read_table
    fi
    for row in $table; do
        split_row "$row"
        case $tree in *" $pid:$start "*) left="$left $pid:$start " ;; esac
    done
}

# Set now to the time in hundredths of a second, or to nothing where the system does not tell it.
read_clock() {
    now=
    { read -r now rest </proc/uptime; } 2>/dev/null || return 0
    now=${now%.*}${now#*.}
    while :; do
        case $now in 0?*) now=${now#0} ;; *) return 0 ;; esac
    done
}

# Succeed if one of the processes in left may end by a signal (HUP or TERM), as far as /proc tells: it gets the
# signal, and does not ignore it. The bits of the mask SigIgn are the signals that a process ignores.
may_end_by() {
    [ "$1" != KILL ] && [ -r /proc/self/stat ] || return 0
    case $1 in HUP) ignoring='*[13579bdf]' ;; *) ignoring='*[4567cdef]???' ;; esac
    getting=
    for row in $table; do
        split_row "$row"
        case $left in *" $pid:$start "*) ;; *) continue ;; esac
        case $1:$terminals in TERM:* | HUP:*" $session "*) getting="$getting /proc/$pid/status" ;; esac
    done
    [ -n "$getting" ] || return 1
    for mask in $(grep -h -s '^SigIgn:' $getting || echo unknown); do
        case $mask in SigIgn: | $ignoring) ;; *) return 0 ;; esac
    done
    return 1
}

# Wait until the tree has ended, or is left with processes that ignore a signal, at most for a number of tenths
# of a second: by the clock, where there is one, because on a busy host each step takes longer than it sleeps.
wait_for_end() {
    steps=$2
    read_clock
    limit=$((${now:-0} + 10 * steps))
    while [ "$steps" -gt 0 ]; do
        find_left
        [ -n "$left" ] || return 0
        [ "$steps" -gt 2 ] || may_end_by "$1" || return 0
        sleep 0.1 2>/dev/null || { sleep 1 && steps=$((steps - 9)); }
        steps=$((steps - 1))
        read_clock
        [ "${now:-0}" -le "$limit" ] || break
    done
    find_left
}

# Set command_PID to the command of each process of the tree. Without grep there are none.
read_commands() {
    set --
    for process in $tree; do set -- "$@" "/proc/${process%%:*}/cmdline"; done
    pid=
    set -f
    IFS=$nl
    set -- $(grep -a -s . /dev/null "$@" | tr '\0' ' ' | cut -c1-120)
    unset IFS
    set +f
    for line; do
        file=${line%%:*} before=$pid
        pid=${file#/proc/} pid=${pid%/cmdline}
        case $pid in "$before" | *[!0-9]*) ;; *) eval "command_$pid=\${line#*:}" ;; esac # its first line
    done
}

# Send a signal to all in left, and note it in said. The signal `left` is none: these could not be ended.
send() {
    for process in $left; do
        pid=${process%%:*}
        eval "command=\${command_$pid-}"
        [ "$1" = left ] || kill -s "$1" "$pid" 2>/dev/null || continue
        [ "$1" != TERM ] || kill -s CONT "$pid" 2>/dev/null # a stopped process would not get it
        said="$said$1 $pid $command$nl"
    done
}

# End the tree. tmux has closed the terminals, which sends SIGHUP. Each scan finds what was started since the
# one before it.
end_tree() {
    said= rounds=5
    read_clock
    give_up=$((${now:-0} + 160))
    wait_for_end HUP 4
    scan
    [ -n "$tree" ] || return 0
    read_commands
    left=$tree
    send TERM
    wait_for_end TERM 3
    while [ "$rounds" -gt 0 ]; do
        send KILL
        wait_for_end KILL 1
        scan
        left=$tree
        [ -n "$left" ] || return 0
        read_commands
        rounds=$((rounds - 1))
        read_clock
        [ "${now:-0}" -le "$give_up" ] || rounds=0
    done
    send left
}
