# Marks around mksh's prompts. What stands between two \001 has no width for its line editor.
PS1=$(printf '\001\r\001\033]133;D;$?;@NONCE@\007\001')"${PS1-\$ }"$(printf '\001\033]133;B;@NONCE@\007\001')
PS2=$(printf '\001\r\001\033]133;P;@NONCE@\007\001')"${PS2-> }"
printf '\033]133;I;mksh.%s;@NONCE@\007' $$
