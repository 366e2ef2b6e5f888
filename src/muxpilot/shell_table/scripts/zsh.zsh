# Marks around zsh's prompts and commands. @NONCE@ makes them ours. A person may have given names a meaning of
# their own: aliases are off while this is read, and `builtin` passes functions by. Where that is a function
# itself, `-` stands for it, which does nothing.
[[ -o aliases ]] && __muxpilot_x=aliases || __muxpilot_x=noaliases
__muxpilot_f='${${functions[builtin]+-}:-builtin}' __muxpilot_c=${(e)__muxpilot_f}
$__muxpilot_c \setopt \noaliases
# With `set -x` zsh would trace our functions. Each body is a group whose trace goes to /dev/null with stderr.
# The number of the prompt grows with every command, and with every prompt that no command came before.
__muxpilot_before() { {
    local s=$? c=${(e)__muxpilot_f}
    if (( __muxpilot_ran )); then __muxpilot_ran=0; else (( ++__muxpilot_n )); fi
    $c print -n '\e]133;D;'$s';'$__muxpilot_n.$$';@NONCE@\a'
    if (( ${+__muxpilot_chars} )); then
        histchars=$__muxpilot_chars
        [[ $__muxpilot_comments == on ]] || $c setopt no_interactive_comments
        $c unset __muxpilot_chars __muxpilot_comments
    fi
    $c return $s
} 2>/dev/null }
__muxpilot_after() { {
    local s=$? c=${(e)__muxpilot_f}
    $c emulate -L zsh
    __muxpilot_mark
    $c return $s
} 2>/dev/null }
__muxpilot_start() { {
    local c=${(e)__muxpilot_f}
    $c emulate -L zsh
    $c print -n '\e]133;C;;'$__muxpilot_n.$$';@NONCE@\a'
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
        $c setopt extended_glob
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
    local c=${(e)__muxpilot_f}
    $c print -n '\e]133;L;'$#BUFFER';'$__muxpilot_n.$$';@NONCE@\a'
    (( ${+__muxpilot_chars} )) && $c return
    typeset -g __muxpilot_chars=$histchars __muxpilot_comments=off
    [[ -o interactivecomments ]] && __muxpilot_comments=on
    histchars=$'\C-_^#'
    $c setopt interactive_comments
} 2>/dev/null }
__muxpilot_load() {
    local s=$? k c=${(e)__muxpilot_f}
    typeset -ga precmd_functions preexec_functions
    typeset -gi __muxpilot_n __muxpilot_ran=0
    typeset -g __muxpilot_d __muxpilot_b __muxpilot_p __muxpilot_e
    # A child that has inherited the prompt has a higher SHLVL, and prints another pid.
    typeset -g __muxpilot_w="%($((SHLVL + 1))L.0.$$);@NONCE@"$'\a%}'
    $c zle -N __muxpilot_key
    for k in emacs viins vicmd; do $c bindkey -M $k '\e[7717~' __muxpilot_key; done
    $c print -n '\e]133;I;zsh;'$__muxpilot_n.$$';@NONCE@\a'
    __muxpilot_after
    $c unfunction __muxpilot_load
    $c return $s
}
$__muxpilot_c setopt $__muxpilot_x
