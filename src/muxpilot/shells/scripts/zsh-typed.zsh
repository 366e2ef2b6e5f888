# A prompt of several rows is drawn whole again: take the rows above the last away, too.
() {
    local rows=${(%%)PS1}
    repeat ${#rows//[^$'\n']/} print -n '\e[A\e[2K'
}
# The line that loaded this was no command of the person's: take it out of what zsh remembers.
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
