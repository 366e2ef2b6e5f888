# zsh draws a prompt of several rows again as a whole: erase the rows above the last, too.
[[ -o aliases ]] && __muxpilot_x=aliases || __muxpilot_x=noaliases
\builtin \setopt \noaliases
() {
    local rows=${(%%)PS1}
    repeat ${#rows//[^$'\n']/} builtin print -n '\e[A\e[2K'
}
# Take the line that loaded this out of the history: the person did not type it.
if [[ $history[$HISTCMD] == *@FILE@* ]]; then
    () {
        builtin emulate -L zsh
        local file=${TMPPREFIX:-/tmp/zsh}-$$-$RANDOM old=${HISTFILE-} size=$HISTSIZE saved=$SAVEHIST
        local -a lines
        ( builtin umask 077; builtin : >$file )
        SAVEHIST=$size
        builtin fc -W $file
        lines=("${(@f)$(<$file)}")
        [[ $lines[-1] == *@FILE@* ]] && builtin shift -p lines
        if (( $#lines )); then builtin print -rl -- "${(@)lines}" >$file; else builtin : >$file; fi
        builtin fc -p $file $size $saved
        HISTFILE=$old
        command rm -f -- $file
    }
fi
builtin setopt $__muxpilot_x
