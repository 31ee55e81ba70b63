"""Settings of a Dask cluster that computes for a server, and their checks."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from pydantic import Field

from onnxplain_server.config.access_settings import AccessSettings
from onnxplain_server.config.setting_names import SettingsError, variable_and_flag
from onnxplain_server.config.setting_types import SchedulerAddress

_FILES = ("dask_ca_file", "dask_certificate_file", "dask_key_file")


class ClusterSettings(AccessSettings):
    """Settings of the cluster, after those of access."""

    dask_scheduler: SchedulerAddress | None = Field(
        None,
        description="Scheduler of a Dask cluster, tcp://HOST:PORT or tls://HOST:PORT, which"
        " computes what is exact in blocks on Parquet files of URIs: see scaling.md. Its workers"
        " read them by a list of sources of their own.",
    )
    dask_prediction_seconds: float | None = Field(
        None,
        gt=0,
        allow_inf_nan=False,
        description="Planned time of an operation, in seconds, from which the Dask cluster predicts"
        " for its black box: its model and rows then go to the cluster. Unset: never.",
    )
    dask_ca_file: Path | None = Field(
        None, description="Certificate authorities of the Dask cluster, for tls://, in PEM."
    )
    dask_certificate_file: Path | None = Field(
        None, description="Certificate for the Dask cluster, for tls://, in PEM."
    )
    dask_key_file: Path | None = Field(None, description="Private key of that certificate, in PEM.")


def dask_files(settings: ClusterSettings) -> Sequence[Path]:
    """Return the files of TLS: authorities, certificate and key; none without TLS.

    Raises
    ------
    SettingsError
        If they do not fit the address.
    """
    files = [file for name in _FILES if (file := getattr(settings, name)) is not None]
    is_tls = (settings.dask_scheduler or "").startswith("tls://")
    scheduler = variable_and_flag("dask_scheduler")
    if settings.dask_scheduler is None and settings.dask_prediction_seconds is not None:
        raise SettingsError(f"{variable_and_flag('dask_prediction_seconds')} needs {scheduler}")
    if len(files) != (len(_FILES) if is_tls else 0):
        named = ", ".join(map(variable_and_flag, _FILES))
        raise SettingsError(f"{named} belong to {scheduler} with tls://, which needs all of them")
    missing = next((file for file in files if not file.is_file()), None)
    if missing is not None:
        raise SettingsError(f"{scheduler}: {missing} is no file")
    return files
