"""Notes of feature vectors: low fidelity, poorly determined angles."""

import numpy as np
import pytest
from onnxplain_server.methods.feature_vectors.growing import Fit
from onnxplain_server.methods.feature_vectors.options import Options, PathSource
from onnxplain_server.methods.feature_vectors.result import PathCounts, embed_counts, finish
from scipy import sparse

CLEAR = [[0, 9, 1], [9, 0, 5], [1, 5, 0]]
EQUAL = [[0, 8, 5, 5], [8, 0, 5, 5], [5, 5, 0, 8], [5, 5, 8, 0]]
"""Singular values 18, 8, 8 and 2."""


def codes(counts: list[list[int]], sentence_count: int, fit: Fit | None = None) -> list[str]:
    options = Options(PathSource.LABELS, tuple(f"x{j}" for j in range(len(counts))))
    matrix = sparse.csr_array(np.array(counts))
    trunk = PathCounts(matrix, matrix, sentence_count, 100, fit)
    result = finish(options, trunk, embed_counts(trunk.counted, options))
    return [note.code for note in result.notes]


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        pytest.param(codes(CLEAR, 20_000), [], id="nothing to say"),
        pytest.param(
            codes(EQUAL, 20_000),
            ["ANGLE_ILL_DETERMINED", "LOW_FIDELITY"],
            id="equal singular values, of which the plane holds half the variance",
        ),
        pytest.param(codes(CLEAR, 19_999), ["FEW_SENTENCES"], id="few sentences"),
        pytest.param(codes(CLEAR, 20_000, Fit(3, 0.79)), ["LOW_FIDELITY"], id="unlike its target"),
        pytest.param(codes(CLEAR, 20_000, Fit(3, 0.81)), [], id="like its target"),
    ],
)
def test_each_doubt_is_noted_where_there_is_one(found: list[str], expected: list[str]) -> None:
    assert found == expected
