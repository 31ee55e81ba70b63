"""Compile cache: later processes, read-only and full disks, stale entries."""

from __future__ import annotations

import importlib.util
import pickle
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numba
import pytest
from numba.core import config
from onnxplain_server.trees.kernels.compile import KERNELS

MODULE = """
from onnxplain_server.trees.kernels.compile import kernel

@kernel
def twice(number: int) -> int:
    return 2 * number

print(twice(2))
"""


@pytest.fixture
def nowhere(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be written: numba tries so with a temporary file."""

    def refuse(**_):
        raise OSError

    monkeypatch.setattr(tempfile, "TemporaryFile", refuse)


def run(file: Path):
    """Import the file, which calls the loop; the compiled loop."""
    spec = importlib.util.spec_from_file_location("loops", file)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.twice(21) == 42
    return KERNELS.pop().compiled


def hits(loop) -> int:
    """How often code was found instead of compiled."""
    return sum(loop.dispatcher.stats.cache_hits.values())


@pytest.mark.usefixtures("nowhere")
def test_kernels_compile_in_memory_on_a_read_only_disk(tmp_path: Path) -> None:
    file = tmp_path / "loops.py"
    file.write_text(MODULE, encoding="utf-8")

    assert hits(run(file)) == 0
    assert not [*tmp_path.glob("**/*.nb?")]


def test_a_writable_cache_serves_later_processes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    # As numba does when it first compiles something.
    config.reload_config()
    file = tmp_path / "loops.py"
    file.write_text(MODULE, encoding="utf-8")

    assert [hits(run(file)) for _ in range(2)] == [0, 1]


def test_a_stale_index_that_names_a_moved_type_is_replaced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NUMBA_CACHE_DIR", raising=False)
    config.reload_config()
    file = tmp_path / "loops.py"
    file.write_text(MODULE, encoding="utf-8")
    run(file)
    (index,) = tmp_path.glob("__pycache__/*.nbi")
    # What pickle writes for a class that its module no longer has.
    index.write_bytes(pickle.dumps(numba.__version__) + b"conxplain_server.trees\nMoved\n.")

    assert [hits(run(file)) for _ in range(2)] == [0, 1]


def test_a_full_disk_fails_no_call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "loops.py"
    file.write_text(MODULE, encoding="utf-8")
    monkeypatch.setattr("numba.core.caching.IndexDataCacheFile.save", _full)

    assert hits(run(file)) == 0


def _full(*_: Callable[..., Any]) -> None:
    raise OSError(28, "No space left on device")
