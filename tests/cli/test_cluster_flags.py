"""Flags of a Dask cluster: what contradicts itself is refused before anything is connected."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import Result

Run = Callable[..., Result]
TCP, TLS = "tcp://127.0.0.1:1", "tls://127.0.0.1:1"


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--dask-ca-file", "ca"], "need --dask-scheduler"),
        (["--dask-scheduler", TCP, "--endpoint", "localhost:1"], "leave --endpoint out"),
        (["--dask-scheduler", TCP, "--dask-key-file", "key"], "need an address with tls://"),
        (["--dask-scheduler", TLS, "--dask-ca-file", "ca"], "--dask-certificate-file and"),
    ],
)
def test_flags_that_contradict_each_other_are_refused(
    run: Run, model: Path, table: Path, flags: list[str], message: str
) -> None:
    result = run("explain", model, table, *flags)

    assert result.exit_code == 2
    assert message in " ".join(result.stderr.replace("│", "").split())


def test_the_missing_package_is_named(
    run: Run, model: Path, table: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    monkeypatch.delitem(sys.modules, "onnxplain_server.adapters.cluster.dask_client", raising=False)
    monkeypatch.delattr("onnxplain_server.adapters.cluster.dask_client", raising=False)

    result = run("explain", model, table, "--dask-scheduler", TCP)

    assert result.exit_code == 1
    assert "onnxplain-server[dask]" in result.stderr
    assert result.stderr.endswith("(DASK_MISSING)\n")
