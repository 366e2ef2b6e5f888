# Marks around mksh's prompts. Its line editor counts text between two \001 as having no width.
# Remove the marks of another muxpilot.
if [ -n "${__muxpilot_ps1-}" ] && [ "${PS1-}" = "$__muxpilot_ps1" ]; then PS1=$__muxpilot_own1 PS2=$__muxpilot_own2; fi
__muxpilot_own1=${PS1-\$ }
__muxpilot_own2=${PS2-> }
PS1=$(printf '\001\r\001\033]133;D;$?;@NONCE@\007\001')"$__muxpilot_own1"$(printf '\001\033]133;B;@NONCE@\007\001')
PS2=$(printf '\001\r\001\033]133;P;@NONCE@\007\001')"$__muxpilot_own2"
__muxpilot_ps1=$PS1
printf '\033]133;I;mksh.%s;@NONCE@\007' $$
