# Read the person's own .zshenv. zsh reads the files after it from the same folder by itself.
() { command rm -rf -- "${ZDOTDIR:h}" }
if [[ -n ${MUXPILOT_ZDOTDIR+x} ]]; then ZDOTDIR=$MUXPILOT_ZDOTDIR; else unset ZDOTDIR; fi
unset MUXPILOT_ZDOTDIR
[[ ! -r ${ZDOTDIR:-$HOME}/.zshenv ]] || . ${ZDOTDIR:-$HOME}/.zshenv
