"""Names of settings as flags, variables and file keys, and the error that names them."""

from __future__ import annotations

import difflib
from collections.abc import Collection

PREFIX = "ONNXPLAIN_"

CONFIG_FILE = "config_file"

SECRETS = ("redis_url", "cache_secret")
"""Settings whose values never appear in messages."""


TOKEN_VARIABLE = f"{PREFIX}TOKEN"
"""Token that client commands send; not a setting."""


class SettingsError(Exception):
    """Unusable setting; the message names it, in one line."""


def flag(name: str) -> str:
    """Return the flag of a setting."""
    return "--config" if name == CONFIG_FILE else f"--{name.replace('_', '-')}"


def unknown(name: str, names: Collection[str]) -> str:
    """Describe a name that no setting has, and suggest a similar one."""
    similar = difflib.get_close_matches(name, list(names), 1)
    suggestion = "".join(f"; did you mean {other}?" for other in similar)
    return f"{name}: there is no such setting{suggestion}"


def variable_and_flag(name: str) -> str:
    """Return the environment variable and the flag of a setting, for messages."""
    return f"{PREFIX}{name.upper()} ({flag(name)})"
