# Marks around the prompts of dash, busybox sh and ksh93, which have no hook for a command's start.
PS1=$(printf '\033]133;D;$?;@NONCE@\007')"${PS1-\$ }"$(printf '\033]133;B;@NONCE@\007')
PS2=$(printf '\033]133;P;@NONCE@\007')"${PS2-> }"
printf '\033]133;I;@SHELL@.%s;@NONCE@\007' $$
