"""Settings that only a Linux that can confine fulfils: refused elsewhere, with the way."""

from __future__ import annotations

from onnxplain_server.config.setting_names import SettingsError, variable_and_flag
from onnxplain_server.config.settings import Settings
from onnxplain_server.core.systems.confinement import UNCONFINED, lacking

_WAY = "run the server on Linux: in a container, or in WSL 2 on Windows"
_WAY_ON_LINUX = "run the server where kernel and container allow them"
_OF_LINUX = ("sources_file", "remote_models_file", "dask_scheduler")
"""Settings whose work is done by processes that only Linux can confine."""


def check_system(settings: Settings) -> None:
    """Refuse to serve others without confinement, unless told to.

    Raises
    ------
    SettingsError
    """
    lacks = lacking()
    is_linux = "Linux" not in lacks
    if lacks and settings.isolation != "none":
        cause = f" (it lacks {', '.join(lacks)})" if is_linux else ""
        raise SettingsError(
            f"{UNCONFINED}{cause}; {_WAY_ON_LINUX if is_linux else _WAY}; or set "
            f"{variable_and_flag('isolation')} to none to serve trusted callers without"
        )
    for name in () if is_linux else _OF_LINUX:
        if getattr(settings, name) is not None:
            raise SettingsError(f"{variable_and_flag(name)} works on Linux only; {_WAY}")
