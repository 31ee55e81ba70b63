"""Settings of a server's Dask cluster: what is refused at the start."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from onnxplain_server.config.setting_names import SettingsError
from onnxplain_server.config.settings import Settings, table_memory_bytes
from onnxplain_server.outside import build_cluster


def settings(**given: Any) -> Settings:
    return Settings.model_validate(given)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        ({"dask_scheduler": "tcp://h:1"}, "SOURCES_FILE"),
        ({"dask_scheduler": "tls://h:1", "sources_file": "s"}, "needs all of them"),
        ({"dask_scheduler": "tcp://h:1"}, "DASK_PREDICTION_SECONDS"),
        ({"dask_prediction_seconds": 60}, "DASK_SCHEDULER"),
        ({"dask_ca_file": "ca.pem"}, "belong to"),
        ({"dask_scheduler": "tcp://h:1", "sources_file": "s", "isolation": "none"}, "isolation"),
    ],
)
def test_settings_that_do_not_fit_are_refused(given: dict[str, Any], told: str) -> None:
    with ExitStack() as stack, pytest.raises(SettingsError, match=told):
        build_cluster(settings(**given), stack)


@pytest.mark.parametrize("address", ["h:8786", "http://h:8786", "tcp://h", "tcp://h:1 --x"])
def test_an_address_has_a_scheme_of_dask_and_a_port(address: str) -> None:
    with pytest.raises(ValueError, match="tcp://HOST:PORT"):
        settings(dask_scheduler=address)


def test_a_cluster_may_predict_for_all_operations_that_take_time() -> None:
    with ExitStack() as stack:
        made = build_cluster(
            settings(dask_scheduler="tcp://h:1", dask_prediction_seconds=60), stack
        )
        assert made is not None
        assert made.prediction_seconds == 60.0
    with pytest.raises(ValueError, match="greater than 0"):
        settings(dask_scheduler="tcp://h:1", dask_prediction_seconds=0)


def test_a_missing_file_of_tls_is_named(tmp_path: Path) -> None:
    names = ("dask_ca_file", "dask_certificate_file", "dask_key_file")
    files: dict[str, Any] = {name: tmp_path / name for name in names}
    with ExitStack() as stack, pytest.raises(SettingsError, match="dask_ca_file is no file"):
        build_cluster(settings(dask_scheduler="tls://h:1", **files), stack)


def test_tables_get_half_of_a_workers_memory() -> None:
    assert table_memory_bytes(settings(worker_bytes=2**30)) == 2**29
    assert table_memory_bytes(settings(worker_bytes=2**30, memory_bytes=2**28)) == 2**28
