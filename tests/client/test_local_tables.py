"""Tables of files that a client without a server reads in blocks, alone or by an executor."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnxplain
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

MODEL = Path(__file__).parents[1] / "models/sklearn_gradient_boosting.onnx"
COUNT = 5 * 65_536 + 1_000
MEMORY_BYTES = 136_000_000
"""Above what streaming needs, below the estimate of the table's."""
ASKED = onnxplain.Interactions(pairwise_feature_count=3)


@pytest.fixture(scope="module")
def table(tmp_path_factory: pytest.TempPathFactory) -> onnxplain.TableUris:
    path = tmp_path_factory.mktemp("folder with spaces") / "rows.parquet"
    rng = np.random.default_rng(0)
    rows = {f"c{j}": rng.integers(0, 50, COUNT) / np.float32(4) for j in range(10)}
    pq.write_table(pa.table(rows), path)
    return onnxplain.TableUris(f"file://{path}")


def codes(found: onnxplain.Explanations) -> set[str]:
    return {warning.code for warning in found.warnings}


def test_a_file_that_needs_more_memory_is_read_in_blocks(table) -> None:
    with onnxplain.local(memory_bytes=MEMORY_BYTES) as client, onnxplain.local() as whole:
        found = client.explain(MODEL, table, ASKED)
        expected = whole.explain(MODEL, table, ASKED)

    assert "TABLE_STREAMED" in codes(found)
    assert "TABLE_STREAMED" not in codes(expected)
    assert found.interactions.rows is not None
    assert found.interactions.rows.used_row_count == COUNT
    assert found.interactions.total.values == pytest.approx(
        expected.interactions.total.values, rel=1e-9
    )


def test_an_executor_gives_the_bits_of_the_threads(table) -> None:
    with onnxplain.local(memory_bytes=MEMORY_BYTES) as client:
        expected = client.explain(MODEL, table, ASKED)
    with ThreadPoolExecutor(2) as executor, onnxplain.local(executor=executor) as client:
        found = client.explain(MODEL, table, ASKED)

    assert "TABLE_STREAMED" in codes(found)
    for order in ("overall", "pairwise", "importance"):
        for ours, theirs in zip(
            getattr(found.interactions, order), getattr(expected.interactions, order), strict=True
        ):
            assert ours.numerators.tobytes() == theirs.numerators.tobytes()


def test_what_blocks_cannot_do_is_refused(table) -> None:
    with onnxplain.local(memory_bytes=MEMORY_BYTES) as client:
        with pytest.raises(onnxplain.ExplainError, match="blocks cannot be planned"):
            client.plan(MODEL, table, ASKED)
        with pytest.raises(onnxplain.ExplainError, match="blocks cannot be explained by an op"):
            client.start(MODEL, table, ASKED)


def test_another_executor_is_refused() -> None:
    with pytest.raises(TypeError, match=r"distributed\.Client, not list"):
        onnxplain.local(executor=[])
