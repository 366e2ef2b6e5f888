# Marks around zsh's prompts and commands. @NONCE@ makes them ours. A person may have given names a meaning of
# their own: aliases are off while this is read, and `builtin` passes functions by.
[[ -o aliases ]] && __muxpilot_x=aliases || __muxpilot_x=noaliases
\builtin \setopt \noaliases
# With `set -x` zsh would trace our functions. Each body is a group whose trace goes to /dev/null with stderr.
# The number of the prompt grows with every command, and with every prompt that no command came before.
__muxpilot_before() { {
    local s=$?
    if (( __muxpilot_ran )); then __muxpilot_ran=0; else (( ++__muxpilot_n )); fi
    builtin print -n '\e]133;D;'$s';'$__muxpilot_n.$$';@NONCE@\a'
    if (( ${+__muxpilot_chars} )); then
        histchars=$__muxpilot_chars
        [[ $__muxpilot_comments == on ]] || builtin setopt no_interactive_comments
        builtin unset __muxpilot_chars __muxpilot_comments
    fi
    builtin return $s
} 2>/dev/null }
__muxpilot_after() { {
    local s=$?
    builtin emulate -L zsh
    __muxpilot_mark
    builtin return $s
} 2>/dev/null }
__muxpilot_start() { {
    builtin emulate -L zsh
    builtin print -n '\e]133;C;;'$__muxpilot_n.$$';@NONCE@\a'
    (( ++__muxpilot_n, __muxpilot_ran = 1 ))
    __muxpilot_mark
} 2>/dev/null }
# Put the marks with the number of the prompt into the prompts, and our hooks into their places. The prompt has
# the status as well, in case a person replaces precmd_functions. zsh marks an unfinished line before any hook
# runs: the output of the command ends there.
__muxpilot_mark() {
    local m=$'%{\e]133;' w=$__muxpilot_n.$__muxpilot_w o=${${PS1#$__muxpilot_d}%$__muxpilot_b}
    # A person's hook may have put an older prompt into a new one.
    if [[ $o == *@NONCE@* ]]; then
        builtin setopt extended_glob
        o=${o//$'%{\e]133;'[DB];[^;]#;[^;]#$';@NONCE@\a%}'/}
    fi
    PS2=${PS2#$__muxpilot_p} PROMPT_EOL_MARK=${${PROMPT_EOL_MARK-'%B%S%#%s%b'}#$__muxpilot_e}
    __muxpilot_d=$m"D;%?;"$w __muxpilot_b=$m"B;;"$w __muxpilot_p=$m"P;;"$w
    __muxpilot_e=$m"E;;"$((__muxpilot_n + ! __muxpilot_ran)).$__muxpilot_w
    PS2=$__muxpilot_p$PS2 PROMPT_EOL_MARK=$__muxpilot_e$PROMPT_EOL_MARK
    [[ $precmd_functions[1] == __muxpilot_before && $precmd_functions[-1] == __muxpilot_after ]] ||
        precmd_functions=(__muxpilot_before ${precmd_functions:#__muxpilot_*} __muxpilot_after)
    [[ $preexec_functions[-1] == __muxpilot_start ]] ||
        preexec_functions=(${preexec_functions:#__muxpilot_*} __muxpilot_start)
    # A function ends where it assigns to a readonly variable.
    PS1=$__muxpilot_d$o$__muxpilot_b
}
# Our private key prints how much is typed. In the next line `!` is plain and `#` begins a comment.
__muxpilot_key() { {
    builtin print -n '\e]133;L;'$#BUFFER';'$__muxpilot_n.$$';@NONCE@\a'
    (( ${+__muxpilot_chars} )) && builtin return
    typeset -g __muxpilot_chars=$histchars __muxpilot_comments=off
    [[ -o interactivecomments ]] && __muxpilot_comments=on
    histchars=$'\C-_^#'
    builtin setopt interactive_comments
} 2>/dev/null }
__muxpilot_load() {
    local s=$? k
    typeset -ga precmd_functions preexec_functions
    typeset -gi __muxpilot_n __muxpilot_ran=0
    typeset -g __muxpilot_d __muxpilot_b __muxpilot_p __muxpilot_e
    # A child that has inherited the prompt has a higher SHLVL, and prints another pid.
    typeset -g __muxpilot_w="%($((SHLVL + 1))L.0.$$);@NONCE@"$'\a%}'
    builtin zle -N __muxpilot_key
    for k in emacs viins vicmd; do builtin bindkey -M $k '\e[7717~' __muxpilot_key; done
    builtin print -n '\e]133;I;zsh;'$__muxpilot_n.$$';@NONCE@\a'
    __muxpilot_after
    builtin unfunction __muxpilot_load
    builtin return $s
}
builtin setopt $__muxpilot_x
