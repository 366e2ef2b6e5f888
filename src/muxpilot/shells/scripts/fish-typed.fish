# A prompt of several rows is drawn whole again: take the rows above the last away, too.
for muxpilot_row in (fish_prompt)[2..-1]
    printf '\e[A\e[2K'
end
set -e muxpilot_row
