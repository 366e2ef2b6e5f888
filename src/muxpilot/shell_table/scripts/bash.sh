# Marks around bash's prompts and commands. @NONCE@ makes them ours. A person may have given any name a meaning
# of its own: aliases are off while this is read, and `builtin` passes functions by.
__muxpilot_x=$BASHOPTS
\builtin shopt -u expand_aliases
# The number of the prompt. It grows with every prompt, and is never exported.
__muxpilot_n=$((${__muxpilot_n-0}))
# Remove the marks of another muxpilot.
PS1=${PS1-} PS2=${PS2-} PS0=${PS0-}
PS1=${PS1//"${__muxpilot_d-}"/}
PS1=${PS1//"${__muxpilot_b-}"/}
PS2=${PS2//"${__muxpilot_p-}"/} PS0=${PS0//"${__muxpilot_c-}"/}
__muxpilot_c=$'\e]133;C;;${__muxpilot_n-}.$$;@NONCE@\a'
# The prompt has the status as well, in case a person replaces PROMPT_COMMAND. Then the prompt counts itself:
# PROMPT_COMMAND has another length than our hook left it with. POSIX mode would replace a `!` here.
__muxpilot_d=$'\\[\e]133;D;$?;${__muxpilot_n+$((__muxpilot_n+=1${PROMPT_COMMAND+${#PROMPT_COMMAND}}-__muxpilot_l?1:0))}.$$;@NONCE@\a\\]'
__muxpilot_b=$'\\[\e]133;B;;${__muxpilot_n-}.$$;@NONCE@\a\\]'
__muxpilot_p=$'\\[\e]133;P;;${__muxpilot_n+$((++__muxpilot_n))}.$$;@NONCE@\a\\]'
# With `set -x` bash would trace our functions. In a group, the trace goes to /dev/null with stderr.
__muxpilot_first='{ __muxpilot_before; } 2>/dev/null'
__muxpilot_last='{ __muxpilot_after; } 2>/dev/null'
# Runs first in PROMPT_COMMAND, before anything changes $?, and returns it for what follows.
__muxpilot_before() {
    __muxpilot_s=$?
    ((++__muxpilot_n))
    __muxpilot_h=1
    builtin printf '\e]133;D;%s;%s;@NONCE@\a' "$__muxpilot_s" "$__muxpilot_n.$$"
    if [[ -n ${__muxpilot_bang-} ]]; then __muxpilot_bang=; builtin set -H; fi
    builtin return "$__muxpilot_s"
}
# Runs last in PROMPT_COMMAND. In most cases nothing has changed since the last prompt.
__muxpilot_after() {
    # The prompt tells the status, if a person has removed the hook that runs first.
    [[ -n ${__muxpilot_h-} ]] || ((++__muxpilot_n))
    __muxpilot_h=
    [[ ${PS1-}${PS2-}${PS0-}${PROMPT_COMMAND[*]-} == "${__muxpilot_w-}" ]] || __muxpilot_mend
}
# Puts the marks into prompts that other hooks or a person have changed, and our hooks around theirs.
__muxpilot_mend() {
    PS1=${PS1-}
    if [[ $PS1 != "$__muxpilot_d"*"$__muxpilot_b" ]]; then
        PS1=${PS1//"$__muxpilot_d"/}
        PS1=$__muxpilot_d${PS1//"$__muxpilot_b"/}$__muxpilot_b
    fi
    [[ ${PS2-} == "$__muxpilot_p"* ]] || PS2=$__muxpilot_p${PS2-}
    [[ ${PS0-} == "$__muxpilot_c"* ]] || PS0=$__muxpilot_c${PS0-}
    __muxpilot_hook
    __muxpilot_l=1${#PROMPT_COMMAND}
    __muxpilot_w=$PS1$PS2$PS0${PROMPT_COMMAND[*]-}
}
__muxpilot_hook() {
    builtin local n=$'\n' x
    builtin local -a c
    c=()
    if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 501)); then
        for x in "${PROMPT_COMMAND[@]}"; do
            # A person may have added to the first element: PROMPT_COMMAND="$PROMPT_COMMAND; theirs".
            x=${x#'${__muxpilot_e-}'} x=${x# } x=${x#;}
            [[ -z $x || $x == '{ __muxpilot_'+([a-z_; ])'} 2>/dev/null' ]] || c+=("$x")
        done
        # Without hooks of a person, ours run at once: a redirection costs as much as all the rest. The word
        # before them runs nothing. PROMPT_COMMAND=theirs replaces that word only, and ours still run.
        PROMPT_COMMAND=('${__muxpilot_e-}' '{ __muxpilot_before; __muxpilot_after; } 2>/dev/null')
        ((!${#c[@]})) || PROMPT_COMMAND=("$__muxpilot_first" "${c[@]}" "$__muxpilot_last")
    else
        [[ ${PROMPT_COMMAND-} == "$__muxpilot_first$n"*"$n$__muxpilot_last" ]] && builtin return
        x=${PROMPT_COMMAND-}
        x=${x//"$__muxpilot_first$n"/}
        x=${x//"$n$__muxpilot_last"/}
        PROMPT_COMMAND="$__muxpilot_first$n${x:-:}$n$__muxpilot_last"
    fi
}
# Our private key prints how much is typed at the prompt, and turns history expansion off for the next line.
__muxpilot_key() {
    builtin printf '\e]133;L;%s;%s;@NONCE@\a' "${#READLINE_LINE}" "$__muxpilot_n.$$"
    if [[ $- == *H* ]]; then __muxpilot_bang=1; builtin set +H; fi
}
if ((BASH_VERSINFO[0] * 100 + BASH_VERSINFO[1] >= 404)); then
    builtin bind -m emacs-standard -x '"\e[7717~": { __muxpilot_key; } 2>/dev/null' 2>/dev/null
    builtin bind -m vi-insert -x '"\e[7717~": { __muxpilot_key; } 2>/dev/null' 2>/dev/null
    builtin printf '\e]133;I;bash;%s;@NONCE@\a' "$__muxpilot_n.$$"
else
    builtin printf '\e]133;I;oldbash;%s;@NONCE@\a' "$__muxpilot_n.$$"
fi
__muxpilot_after
[[ $__muxpilot_x != *expand_aliases* ]] || builtin shopt -s expand_aliases
__muxpilot_x=
