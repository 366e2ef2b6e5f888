# zsh draws a prompt of several rows again as a whole: erase the rows above the last, too.
() {
    local rows=${(%%)PS1}
    repeat ${#rows//[^$'\n']/} print -n '\e[A\e[2K'
}
# Take the line that loaded this out of the history: the person did not type it.
if [[ $history[$HISTCMD] == *@FILE@* ]]; then
    () {
        emulate -L zsh
        local file=${TMPPREFIX:-/tmp/zsh}-$$-$RANDOM old=${HISTFILE-} size=$HISTSIZE saved=$SAVEHIST
        local -a lines
        ( umask 077; : >$file )
        SAVEHIST=$size
        fc -W $file
        lines=("${(@f)$(<$file)}")
        [[ $lines[-1] == *@FILE@* ]] && shift -p lines
        if (( $#lines )); then print -rl -- "${(@)lines}" >$file; else : >$file; fi
        fc -p $file $size $saved
        HISTFILE=$old
        command rm -f -- $file
    }
fi
