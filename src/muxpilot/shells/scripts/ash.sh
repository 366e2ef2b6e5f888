# Marks around the prompts of busybox sh. What stands between \[ and \] has no width for its line editor.
PS1=$(printf '\\[\033]133;D;$?;@NONCE@\007\\]')"${PS1-\$ }"$(printf '\\[\033]133;B;@NONCE@\007\\]')
PS2=$(printf '\\[\033]133;P;@NONCE@\007\\]')"${PS2-> }"
printf '\033]133;I;@SHELL@.%s;@NONCE@\007' $$
