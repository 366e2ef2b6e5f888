"""The variables that we pass to the tmux servers that we start, and so to every pane: no keys, no tokens."""

from __future__ import annotations

# Names and patterns. `security.pass_environment` adds more.
PASSED: tuple[str, ...] = (
    *("PATH", "HOME", "SHELL", "USER", "LOGNAME", "HOSTNAME", "PWD", "MAIL", "TMPDIR", "TMUX_TMPDIR", "TZ"),
    *("TERM", "COLORTERM", "TERMINFO", "TERMINFO_DIRS", "TERM_PROGRAM*", "NO_COLOR", "LS_COLORS", "PS[1-4]"),
    *("LANG", "LANGUAGE", "LC_*", "XDG_*", "DISPLAY", "WAYLAND_DISPLAY", "XAUTHORITY"),
    *(
        "DBUS_SESSION_BUS_ADDRESS",
        "SSH_AUTH_SOCK",
        "SSH_AGENT_PID",
        "SSH_CONNECTION",
        "SSH_CLIENT",
        "SSH_TTY",
    ),
    *("EDITOR", "VISUAL", "PAGER", "LESS", "MANPATH", "INFOPATH", "BROWSER", "SSL_CERT_*"),
    # Not all of NIX_*: NIX_CONFIG may hold access tokens.
    *(
        "NIX_PATH",
        "NIX_PROFILES",
        "NIX_SSL_CERT_FILE",
        "NIX_REMOTE",
        "NIX_*_DIR",
        "NIX_USER_CONF_FILES",
        "NIX_LD*",
    ),
    *("VIRTUAL_ENV", "CONDA_PREFIX", "CONDA_DEFAULT_ENV", "PYENV_ROOT", "NVM_DIR", "GOPATH", "GOROOT"),
    *("CARGO_HOME", "RUSTUP_HOME", "JAVA_HOME", "HOMEBREW_PREFIX", "LD_LIBRARY_PATH", "PKG_CONFIG_PATH"),
)
