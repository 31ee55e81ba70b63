"""Trees of native files with derived columns: the trees engine reads them as the runtime does."""

import json
from pathlib import Path

import numpy as np
import pytest
from onnxplain_server.adapters.native import read_native
from onnxplain_server.core.model_limits import DEFAULT_LIMITS
from onnxplain_server.trees.reading.ensemble import Ensemble, read_ensemble

FOLDER = Path(__file__).parents[2] / "models/native/lightgbm/4.6.0"


@pytest.mark.parametrize(("name", "table"), [("codes", "codes"), ("zeros", "rows")])
def test_codes_without_fractions_and_zeros_apart_are_exact(sums, name, table):
    native = read_native((FOLDER / f"{name}.txt").read_bytes(), DEFAULT_LIMITS)
    assert native is not None
    answers = json.loads((FOLDER / "answers.json").read_text())
    rows = np.array(answers[table], dtype=np.float64)
    kinds = {node.op_type for node in native.model.graph.node}
    assert ("Floor" in kinds, "Cast" in kinds) == (name == "codes", name == "zeros")

    view = read_ensemble(native.model)

    assert isinstance(view, Ensemble)
    assert sums(view, rows.T) == pytest.approx(np.array(answers[f"{name} predicts"]), rel=1e-12)
