# Marks around the prompts of dash and ksh93. These shells have no hook for the start of a command.
# A person may have given any name a meaning of its own: only the prompt's expansion prints marks, and while
# this is read a backslash passes aliases by, and `command` functions.
# Remove the marks of another muxpilot.
case ${__muxpilot_ps1-} in
?*) case ${PS1-} in "$__muxpilot_ps1") PS1=$__muxpilot_own1 PS2=$__muxpilot_own2;; esac;;
esac
__muxpilot_own1=${PS1-\$ }
__muxpilot_own2=${PS2-> }
# The number of the prompt. It grows with every prompt, and is never exported. A child has none: it prints an
# empty number if it has inherited the prompt.
__muxpilot_n=$((${__muxpilot_n-0}))
PS1=$(\command printf '\033]133;D;$?;%s\007' '${__muxpilot_n+$((__muxpilot_n=__muxpilot_n+1))}.$$;@NONCE@')"$__muxpilot_own1"$(\command printf '\033]133;B;;%s\007' '${__muxpilot_n-}.$$;@NONCE@')
# ksh93 and mksh do not expand this one, so it has no number.
PS2=$(\command printf '\033]133;P;;0.%s;@NONCE@\007' $$)"$__muxpilot_own2"
__muxpilot_ps1=$PS1
\command printf '\033]133;I;@SHELL@;%s;@NONCE@\007' "$__muxpilot_n.$$"
