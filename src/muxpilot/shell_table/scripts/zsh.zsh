# Marks around zsh's prompts and commands. @NONCE@ makes them ours.
# With `set -x` zsh would trace our functions. Each body is a group whose trace goes to /dev/null with stderr.
__muxpilot_before() { {
    local s=$?
    print -n '\e]133;D;'$s';@NONCE@\a'
    if (( ${+__muxpilot_chars} )); then
        histchars=$__muxpilot_chars
        [[ $__muxpilot_comments == on ]] || setopt no_interactive_comments
        unset __muxpilot_chars __muxpilot_comments
    fi
    return $s
} 2>/dev/null }
__muxpilot_after() { {
    local s=$?
    emulate -L zsh
    local d=$'%{\e]133;Q;%?;@NONCE@\a%}' b=$'%{\e]133;B;@NONCE@\a%}'
    local p=$'%{\e]133;P;@NONCE@\a%}' e=$'%{\e]133;E;@NONCE@\a%}'
    # The prompt has the status as well, in case a person replaces precmd_functions.
    [[ $PS1 == $d*$b ]] || PS1=$d${${PS1//$d/}//$b/}$b
    [[ $PS2 == $p* ]] || PS2=$p${PS2//$p/}
    # zsh marks an unfinished line before any hook runs. The output of the command ends there.
    [[ $PROMPT_EOL_MARK == $e* ]] || PROMPT_EOL_MARK=$e${PROMPT_EOL_MARK-'%B%S%#%s%b'}
    [[ $precmd_functions[1] == __muxpilot_before && $precmd_functions[-1] == __muxpilot_after ]] ||
        precmd_functions=(__muxpilot_before ${precmd_functions:#__muxpilot_*} __muxpilot_after)
    [[ $preexec_functions[-1] == __muxpilot_start ]] ||
        preexec_functions=(${preexec_functions:#__muxpilot_*} __muxpilot_start)
    return $s
} 2>/dev/null }
__muxpilot_start() { { print -n '\e]133;C;@NONCE@\a' } 2>/dev/null }
# Our private key prints how much is typed. In the next line `!` is plain and `#` begins a comment.
__muxpilot_key() { {
    print -n '\e]133;L;'$#BUFFER';@NONCE@\a'
    (( ${+__muxpilot_chars} )) && return
    typeset -g __muxpilot_chars=$histchars __muxpilot_comments=$options[interactivecomments]
    histchars=$'\C-_^#'
    setopt interactive_comments
} 2>/dev/null }
__muxpilot_load() {
    local s=$? k m
    typeset -ga precmd_functions preexec_functions
    zle -N __muxpilot_key
    for k in emacs viins vicmd; do bindkey -M $k '\e[7717~' __muxpilot_key; done
    # Remove the marks of another muxpilot.
    for k in Q\;%\? B P E; do
        m=$'%{\e]133;'$k';'${__muxpilot_nonce-}$'\a%}'
        PS1=${PS1//$m/} PS2=${PS2//$m/} PROMPT_EOL_MARK=${PROMPT_EOL_MARK//$m/}
    done
    typeset -g __muxpilot_nonce=@NONCE@
    print -n '\e]133;I;zsh.'$$';@NONCE@\a'
    __muxpilot_after
    unfunction __muxpilot_load
    return $s
}
