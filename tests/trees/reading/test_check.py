"""Check of an ensemble against the predictions of the runtime."""

import numpy as np
from onnxplain_server.trees.reading.check import disagreement
from onnxplain_server.trees.reading.ensemble import Ensemble, read_ensemble


def test_float32_rounding_passes_the_check_and_a_wrong_leaf_fails_it(regressor) -> None:
    trees = [((0, "LEQ", 0.0), [1000.0], [-1000.0]), ((0, "LEQ", 0.0), [-999.5], [1000.0])]
    view = read_ensemble(regressor(trees, 1))
    assert isinstance(view, Ensemble)
    predicted = np.array([[0.5], [0.0]])
    assert disagreement(view, predicted + 1e-4, predicted) is None
    refusal = disagreement(view, np.array([[0.5], [0.01]]), predicted)
    assert refusal is not None
    assert refusal.reason == "its trees add up to 0.01 where the runtime predicts 0"


def test_nan_fails_the_check(regressor) -> None:
    view = read_ensemble(regressor([[1.0]], 1))
    assert isinstance(view, Ensemble)
    assert disagreement(view, np.array([[1.0]]), np.array([[np.nan]])) is not None
