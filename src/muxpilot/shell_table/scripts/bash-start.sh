# Read what bash reads without POSIX mode, as if it had been started without our file.
muxpilot_folder=${ENV%/*}
if [ -n "${MUXPILOT_ENV+x}" ]; then ENV=$MUXPILOT_ENV; export ENV; unset MUXPILOT_ENV; else unset ENV; fi
set +o posix
shopt -u inherit_errexit 2>/dev/null
[ "${HISTFILE-}" != ~/.sh_history ] || HISTFILE=~/.bash_history
command rm -rf -- "$muxpilot_folder"
unset muxpilot_folder
# From here on a person's files may have given names another meaning.
if shopt -q login_shell; then
    [[ ! -r /etc/profile ]] || \builtin . /etc/profile
    for muxpilot_file in ~/.bash_profile ~/.bash_login ~/.profile; do
        if [[ -r $muxpilot_file ]]; then \builtin . "$muxpilot_file"; \builtin break; fi
    done
    \builtin unset muxpilot_file
else
    [[ ! -r /etc/bash.bashrc ]] || \builtin . /etc/bash.bashrc
    [[ ! -r ~/.bashrc ]] || \builtin . ~/.bashrc
fi
