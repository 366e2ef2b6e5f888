# Marks around the prompts of dash and ksh93. These shells have no hook for the start of a command.
# Remove the marks of another muxpilot.
if [ -n "${__muxpilot_ps1-}" ] && [ "${PS1-}" = "$__muxpilot_ps1" ]; then PS1=$__muxpilot_own1 PS2=$__muxpilot_own2; fi
__muxpilot_own1=${PS1-\$ }
__muxpilot_own2=${PS2-> }
PS1=$(printf '\033]133;D;$?;@NONCE@\007')"$__muxpilot_own1"$(printf '\033]133;B;@NONCE@\007')
PS2=$(printf '\033]133;P;@NONCE@\007')"$__muxpilot_own2"
__muxpilot_ps1=$PS1
printf '\033]133;I;@SHELL@.%s;@NONCE@\007' $$
