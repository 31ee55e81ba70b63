"""Losses that are infinite, as the rows are or once they are moved."""

from __future__ import annotations

import numpy as np
import pytest
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.swarm import Options

Z = [1.0, 2, 3, 4]


def answer(make, x: list[float], weights: list[float]):
    model = make.model(lambda x, z: np.clip(x, 0, 1) + 0 * z, "xz", ["double"] * 2)
    table = make.table({"x": x, "z": Z, "y": [1.0, 1, 0, 0], "w": weights})
    options = Options(loss=Loss.LOGLOSS)
    return make.answer(model, table, options, target_column="y", weight_column="w")


def test_a_loss_that_is_infinite_before_is_refused_with_its_rows(make) -> None:
    """By hand: row 0 is of class 1 and has the probability 0."""
    with pytest.raises(
        ExplainError, match=r"row 0 \(counted from 0\) the true class has"
    ) as refused:
        answer(make, [0.0, 0.5, 0.2, 0.3], [1, 1, 1, 1])

    assert (refused.value.reason, refused.value.field) == (Reason.INVALID_OPTION, "loss")


def test_a_loss_that_is_infinite_after_a_move_is_told(make) -> None:
    """Row 0, whose loss would be infinite as it is, weighs nothing."""
    found = answer(make, [0.0, 0.5, 0.2, 0.3], [0, 1, 1, 1])

    result = found.explanations[0].result
    assert result.baseline_score == pytest.approx(-np.log([0.5, 0.8, 0.7]).mean())
    assert result.importances.tolist() == [np.inf, 0]
    (note,) = [note for note in found.notes if note.code == "INFINITE_LOSS"]
    assert "after moves of 'x', because" in note.message
