"""Start of a server, also on a machine where nothing was compiled yet."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.error import HTTPError
from urllib.request import urlopen

import onnxplain
import onnxplain_server
import pytest

pytestmark = pytest.mark.slow

CASE = Path(__file__).parents[1] / "golden" / "hstats" / "case_friedman1_gbr"


def status(server, path: str) -> int:
    try:
        with urlopen(server.url + path, timeout=120) as reply:  # noqa: S310 - our own server
            return int(reply.status)
    except HTTPError as error:
        return error.code


def test_it_starts_with_nothing_compiled_and_soon_once_that_is_kept(
    serve: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Processor time is compared, since a busy machine has its own idea of seconds."""
    cached, copied = tmp_path / "cache", tmp_path / "package"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(cached))
    package = Path(onnxplain_server.__file__).parent
    # Without modules that `make kernels` may have made here.
    shutil.copytree(package, copied / package.name, ignore=shutil.ignore_patterns("_compiled_*"))
    used: list[float] = []
    for _ in range(2):
        server = serve(copied)
        used.append(server.processor_seconds())
        assert status(server, "/readyz") == 200
        with onnxplain.connect(server.endpoint) as client:
            answer = client.explain(
                CASE / "model.onnx",
                CASE / "data.csv",
                onnxplain.Interactions(),
                target_column="y",
            )
        assert answer.receipt.engine == "TREES"
        assert any("preparing workers" in line for line in server.log)

    assert list(cached.rglob("*.nbi"))
    assert used[1] < used[0] / 2
