# A prompt of several rows is drawn whole again: take the rows above the last away, too.
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
    __muxpilot_x=${PS1@P}
    __muxpilot_x=${__muxpilot_x//[!$'\n']/}
    printf "${__muxpilot_x//$'\n'/'\e[A\e[2K'}"
fi
# The line that loaded this was no command of the person's.
__muxpilot_x=$(HISTTIMEFORMAT='' builtin history 1 2>/dev/null)
if [[ $__muxpilot_x == *@FILE@* ]]; then
    __muxpilot_x=${__muxpilot_x#"${__muxpilot_x%%[0-9]*}"}
    builtin history -d "${__muxpilot_x%%[!0-9]*}"
fi
unset __muxpilot_x
