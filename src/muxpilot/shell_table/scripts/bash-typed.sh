# bash draws a prompt of several rows again as a whole: erase the rows above the last, too.
__muxpilot_y=$BASHOPTS
\builtin shopt -u expand_aliases
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
    __muxpilot_x=${PS1@P}
    __muxpilot_x=${__muxpilot_x//[!$'\n']/}
    builtin printf "${__muxpilot_x//$'\n'/'\e[A\e[2K'}"
fi
# Take the line that loaded this out of the history: the person did not type it.
__muxpilot_x=$(HISTTIMEFORMAT='' builtin history 1 2>/dev/null)
if [[ $__muxpilot_x == *@FILE@* ]]; then
    __muxpilot_x=${__muxpilot_x#"${__muxpilot_x%%[0-9]*}"}
    builtin history -d "${__muxpilot_x%%[!0-9]*}"
fi
[[ $__muxpilot_y != *expand_aliases* ]] || builtin shopt -s expand_aliases
