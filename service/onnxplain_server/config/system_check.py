"""Settings that only Linux can fulfil: refused elsewhere, with the way."""

from __future__ import annotations

from onnxplain_server.config.setting_names import SettingsError, variable_and_flag
from onnxplain_server.config.settings import Settings
from onnxplain_server.core.systems.confinement import UNCONFINED, can_confine

_WAY = "run the server on Linux: in a container, or in WSL 2 on Windows"
_OF_LINUX = ("sources_file", "remote_models_file", "dask_scheduler")
"""Settings whose work is done by processes that only Linux can confine."""


def check_system(settings: Settings) -> None:
    """Refuse to serve others without confinement, unless told to.

    Raises
    ------
    SettingsError
    """
    if can_confine():
        return
    if settings.isolation != "none":
        raise SettingsError(
            f"{UNCONFINED}; {_WAY}; or set {variable_and_flag('isolation')} to none to serve "
            "trusted callers without"
        )
    for name in _OF_LINUX:
        if getattr(settings, name) is not None:
            raise SettingsError(f"{variable_and_flag(name)} works on Linux only; {_WAY}")
