"""Names of settings as flags, variables and file keys, and the error that names them."""

from __future__ import annotations

PREFIX = "ONNXPLAIN_"

CONFIG_FILE = "config_file"

SECRETS = ("redis_url", "cache_secret")
"""Settings whose values never appear in messages."""


class SettingsError(Exception):
    """Unusable setting; the message names it, in one line."""


def flag(name: str) -> str:
    """Return the flag of a setting."""
    return "--config" if name == CONFIG_FILE else f"--{name.replace('_', '-')}"


def variable_and_flag(name: str) -> str:
    """Return the environment variable and the flag of a setting, for messages."""
    return f"{PREFIX}{name.upper()} ({flag(name)})"
