"""The settings: a TOML file, environment variables and flags become one record.

This package imports nothing by itself, so that tmux can read the environment without loading the settings.
"""
