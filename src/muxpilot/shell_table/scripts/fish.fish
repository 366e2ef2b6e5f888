# Marks around fish's prompts and commands. @NONCE@ makes them ours.
function __muxpilot_start --on-event fish_preexec
    printf '\e]133;C;@NONCE@\a'
end
function __muxpilot_end --on-event fish_postexec
    printf '\e]133;D;%s;@NONCE@\a' $status
end
if not functions fish_prompt | string match -q '*__muxpilot_prompt*'
    functions -e __muxpilot_prompt
    functions -c fish_prompt __muxpilot_prompt
end
function fish_prompt
    __muxpilot_prompt
    printf '\e]133;B;@NONCE@\a'
end
# Our private key prints how much is typed at the prompt.
function __muxpilot_key
    printf '\e]133;L;%s;@NONCE@\a' (string length -- (commandline | string collect))
end
for muxpilot_mode in default insert
    bind -M $muxpilot_mode \e\[7717~ __muxpilot_key
end
set -e muxpilot_mode
printf '\e]133;I;fish.%s;@NONCE@\a' $fish_pid
