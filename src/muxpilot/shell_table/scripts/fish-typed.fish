# fish draws a prompt of several rows again as a whole: erase the rows above the last, too.
for muxpilot_row in (fish_prompt)[2..-1]
    builtin printf '\e[A\e[2K'
end
set -e muxpilot_row
