"""Memory of methods on tables in blocks: it does not grow with the rows."""

from __future__ import annotations

import pytest
from onnxplain_server.trees.streaming.row_blocks import BLOCK_ROWS

from bench.speed.streaming import MEMORY_BYTES, METHODS, measured, write

SMALL, LARGE = 8 * BLOCK_ROWS, 32 * BLOCK_ROWS
GROWTH = 1.25
"""Of the peak, above what the allocator keeps; of the table in memory it would be fourfold."""


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    paths = [folder / "small.parquet", folder / "large.parquet"]
    for path, count in zip(paths, (SMALL, LARGE), strict=True):
        write(path, count)
    return paths


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_the_peak_does_not_grow_with_the_rows(files, method) -> None:
    small, large = (measured(path, method) for path in files)

    assert large.peak < GROWTH * small.peak
    assert large.peak - large.before < MEMORY_BYTES / 1e9 + 0.3  # libraries that it loads
