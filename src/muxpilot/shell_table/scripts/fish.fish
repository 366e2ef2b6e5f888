# Marks around fish's prompts and commands. @NONCE@ makes them ours. A person may have given names a meaning of
# their own: `builtin` passes functions by. fish itself protects set, status, string, test, builtin and its syntax.
# The number of the prompt grows with every command.
set -q __muxpilot_n; or set -g __muxpilot_n 0
function __muxpilot_start --on-event fish_preexec
    builtin printf '\e]133;C;;%s.%s;@NONCE@\a' $__muxpilot_n $fish_pid
end
function __muxpilot_end --on-event fish_postexec
    set -l code $status
    set -g __muxpilot_n (builtin math $__muxpilot_n + 1)
    builtin printf '\e]133;D;%s;%s.%s;@NONCE@\a' $code $__muxpilot_n $fish_pid
end
if not builtin functions fish_prompt | string match -q '*__muxpilot_prompt*'
    builtin functions -e __muxpilot_prompt
    builtin functions -c fish_prompt __muxpilot_prompt
end
function fish_prompt
    __muxpilot_prompt
    builtin printf '\e]133;B;;%s.%s;@NONCE@\a' $__muxpilot_n $fish_pid
end
# Our private key prints how much is typed at the prompt.
function __muxpilot_key
    set -l length (string length -- (builtin commandline | string collect))
    builtin printf '\e]133;L;%s;%s.%s;@NONCE@\a' $length $__muxpilot_n $fish_pid
end
for muxpilot_mode in default insert
    builtin bind -M $muxpilot_mode \e\[7717~ __muxpilot_key
end
set -e muxpilot_mode
builtin printf '\e]133;I;fish;%s.%s;@NONCE@\a' $__muxpilot_n $fish_pid
