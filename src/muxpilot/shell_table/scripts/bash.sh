# Marks around bash's prompts and commands. @NONCE@ makes them ours. First remove those of another muxpilot.
PS1=${PS1//"${__muxpilot_d-}"/}
PS1=${PS1//"${__muxpilot_b-}"/}
PS2=${PS2-} PS0=${PS0-}
PS2=${PS2//"${__muxpilot_p-}"/} PS0=${PS0//"${__muxpilot_c-}"/}
__muxpilot_c=$'\e]133;C;@NONCE@\a'
# The prompt has the status as well, in case a person replaces PROMPT_COMMAND.
__muxpilot_d=$'\\[\e]133;Q;$?;@NONCE@\a\\]'
__muxpilot_b=$'\\[\e]133;B;@NONCE@\a\\]'
__muxpilot_p=$'\\[\e]133;P;@NONCE@\a\\]'
# With `set -x` bash would trace our functions. In a group, the trace goes to /dev/null with stderr.
__muxpilot_first='{ __muxpilot_before; } 2>/dev/null'
__muxpilot_last='{ __muxpilot_after; } 2>/dev/null'
# Runs first in PROMPT_COMMAND, before anything changes $?, and returns it for what follows.
__muxpilot_before() {
    local s=$?
    printf '\e]133;D;%s;@NONCE@\a' "$s"
    if [[ -n ${__muxpilot_bang-} ]]; then set -H; unset __muxpilot_bang; fi
    return "$s"
}
# Runs last in PROMPT_COMMAND, and puts the marks into a prompt that other hooks have built.
__muxpilot_after() {
    local s=$?
    if [[ $PS1 != "$__muxpilot_d"*"$__muxpilot_b" ]]; then
        PS1=${PS1//"$__muxpilot_d"/}
        PS1=$__muxpilot_d${PS1//"$__muxpilot_b"/}$__muxpilot_b
    fi
    [[ ${PS2-} == "$__muxpilot_p"* ]] || PS2=$__muxpilot_p${PS2-}
    [[ ${PS0-} == "$__muxpilot_c"* ]] || PS0=$__muxpilot_c${PS0-}
    __muxpilot_hook
    return "$s"
}
__muxpilot_hook() {
    local n=$'\n' x c=()
    if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
        [[ ${PROMPT_COMMAND[0]-} == "$__muxpilot_first" && ${PROMPT_COMMAND[@]: -1} == "$__muxpilot_last" ]] && return
        for x in "${PROMPT_COMMAND[@]}"; do
            [[ -z $x || $x == "$__muxpilot_first" || $x == "$__muxpilot_last" ]] || c+=("$x")
        done
        PROMPT_COMMAND=("$__muxpilot_first" "${c[@]}" "$__muxpilot_last")
    else
        [[ ${PROMPT_COMMAND-} == "$__muxpilot_first$n"*"$n$__muxpilot_last" ]] && return
        x=${PROMPT_COMMAND-}
        x=${x//"$__muxpilot_first$n"/}
        x=${x//"$n$__muxpilot_last"/}
        PROMPT_COMMAND="$__muxpilot_first$n${x:-:}$n$__muxpilot_last"
    fi
}
# Our private key prints how much is typed at the prompt, and turns history expansion off for the next line.
__muxpilot_key() {
    printf '\e]133;L;%s;@NONCE@\a' "${#READLINE_LINE}"
    if [[ $- == *H* ]]; then __muxpilot_bang=1; set +H; fi
}
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
    for __muxpilot_x in emacs-standard vi-insert; do
        bind -m $__muxpilot_x -x '"\e[7717~": { __muxpilot_key; } 2>/dev/null' 2>/dev/null
    done
    printf '\e]133;I;bash.%s;@NONCE@\a' $$
else
    printf '\e]133;I;oldbash.%s;@NONCE@\a' $$
fi
__muxpilot_after
unset __muxpilot_x
