"""Tables that would not fit into --memory-bytes: they are read in blocks, and sent nowhere."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import Result

Run = Callable[..., Result]
ROW_COUNT = 200_000


@pytest.fixture
def large(tmp_path: Path) -> Path:
    path = tmp_path / "rows.parquet"
    values = np.arange(ROW_COUNT, dtype=np.float64)
    pq.write_table(pa.table({"age": values, "bmi": values}), path)
    return path


@pytest.mark.parametrize("memory", ["1000000", "1MB", "0.9MiB", "1 mb"])
def test_a_table_too_large_for_the_memory_is_read_in_blocks(
    run: Run, parts, model: Path, large: Path, memory: str
) -> None:
    result = run("explain", model, large, "--memory-bytes", memory, "--output", "json")

    assert result.exit_code == 0, result.stderr
    (table,) = parts.large_tables
    assert table.blocks.row_count == ROW_COUNT
    assert not parts.request.HasField("table")


def test_a_csv_file_is_read_in_blocks_too(run: Run, parts, model: Path, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("age,bmi\n" + "1,2\n" * 1_000, encoding="ascii")

    result = run("explain", model, path, "--memory-bytes", "90000", "--output", "json")

    assert result.exit_code == 0, result.stderr
    (table,) = parts.large_tables
    assert table.blocks.row_count == 1_000


def test_a_table_that_fits_is_sent_as_a_whole(run: Run, parts, model: Path, large: Path) -> None:
    result = run("explain", model, large, "--memory-bytes", "1000000000", "--output", "json")

    assert result.exit_code == 0, result.stderr
    assert parts.large_tables == []
    assert parts.request.HasField("table")


def test_a_table_in_blocks_has_no_plan(run: Run, parts, model: Path, large: Path) -> None:
    result = run("plan", model, large, "--memory-bytes", "1000000")

    assert result.exit_code == 1
    assert "--memory-bytes" in result.stderr


@pytest.mark.parametrize("memory", ["0", "-1", "0.1B", "much", "1XB", "1e400MiB"])
def test_what_is_no_number_of_bytes_is_refused(
    run: Run, model: Path, large: Path, memory: str
) -> None:
    result = run("explain", model, large, f"--memory-bytes={memory}")

    assert result.exit_code == 2
    assert "such as 512MiB" in " ".join(result.stderr.split())
