# Read the person's own file: the one that ENV names, else the one that this shell reads by default, if any.
muxpilot_folder=${ENV%/*}
if [ -n "${MUXPILOT_ENV+x}" ]; then ENV=$MUXPILOT_ENV; export ENV; unset MUXPILOT_ENV; else unset ENV; fi
command rm -rf -- "$muxpilot_folder"
unset muxpilot_folder
if [ -n "${ENV-}" ]; then [ ! -r "$ENV" ] || . "$ENV"
elif [ -n "@OWN@" ] && [ -r ~/@OWN@ ]; then . ~/@OWN@; fi
