"""FIRM from Python, by a server or in this process."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import onnxplain
import pytest

LASSO = Path(__file__).parents[1] / "golden/firm/lasso_vs_ridge"


@pytest.fixture(scope="module")
def client() -> Iterator[onnxplain.Client]:
    with onnxplain.local() as client:
        yield client


def test_importances_are_arrays_with_one_number_per_output(client: onnxplain.Client) -> None:
    found = client.explain(
        LASSO / "lasso.onnx",
        LASSO / "data.csv",
        onnxplain.Firm(features=["x1", "x2", "x1 > 0"], repeat_count=20),
        feature_columns=["x1", "x2"],
    ).firm
    first, _, last = found.importances

    assert found.output_names == ("variable",)
    assert first.values == pytest.approx([1.67], abs=0.01)
    assert first.lower[0] < first.values[0] < first.upper[0]
    assert first.expected_scores.shape == (20, 1)
    assert first.shares.sum() == pytest.approx(1)
    assert last.estimator == "TWO_VALUED"
    assert last.levels.tolist() == [0, 1]
    frame = found.to_pandas()
    assert frame.columns.tolist() == [
        "feature", "output", "value", "standard_error", "lower", "upper", "estimator",
    ]  # fmt: skip
    assert frame.value[2] == last.values[0]


def test_without_replicates_there_are_no_intervals(client: onnxplain.Client) -> None:
    found = client.explain(
        LASSO / "ridge.onnx", LASSO / "data.csv", onnxplain.Firm(), feature_columns=["x1", "x2"]
    ).firm

    assert np.isnan(found.importances[0].standard_errors).all()
    assert found.to_arrow().column("lower").null_count == 2


def test_sequences_need_neither_model_nor_table(client: onnxplain.Client) -> None:
    asked = onnxplain.FirmSequences(
        weights={("AC", 0): 2.0, ("T", 3): -1.0}, length=5, max_length=2, motifs=["AC"]
    )

    found = client.explain(None, None, onnxplain.Firm(sequences=asked)).firm

    letters, pairs = found.kmers
    assert letters.kmers == ("A", "C", "G", "T")
    assert pairs.differences.shape == (16, 4, 1)
    assert pairs.differences[pairs.kmers.index("AC"), 0, 0] == pytest.approx(2 - 2 / 16)
    assert found.mean_scores == pytest.approx([2 / 16 - 1 / 4])
    rows = found.to_pandas()
    assert len(rows) == 4 * 5 + 16 * 4
    (cell,) = rows[(rows.kmer == "AC") & (rows.position == 0)].itertuples()
    assert cell.difference == pytest.approx(2 - 2 / 16)
