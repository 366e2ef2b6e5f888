# zsh draws a prompt of several rows again as a whole: erase the rows above the last, too.
[[ -o aliases ]] && __muxpilot_x=aliases || __muxpilot_x=noaliases
$__muxpilot_c \setopt \noaliases
() {
    local rows=${(%%)PS1}
    repeat ${#rows//[^$'\n']/} $__muxpilot_c print -n '\e[A\e[2K'
}
# Take the line that loaded this out of the history: the person did not type it.
if [[ $history[$HISTCMD] == *@FILE@* ]]; then
    () {
        local c=$__muxpilot_c
        $c emulate -L zsh
        local file=${TMPPREFIX:-/tmp/zsh}-$$-$RANDOM old=${HISTFILE-} size=$HISTSIZE saved=$SAVEHIST
        local -a lines
        ( $c umask 077; $c : >$file )
        SAVEHIST=$size
        $c fc -W $file
        lines=("${(@f)$(<$file)}")
        [[ $lines[-1] == *@FILE@* ]] && $c shift -p lines
        if (( $#lines )); then $c print -rl -- "${(@)lines}" >$file; else $c : >$file; fi
        $c fc -p $file $size $saved
        HISTFILE=$old
        command rm -f -- $file
    }
fi
$__muxpilot_c setopt $__muxpilot_x
