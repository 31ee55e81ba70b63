"""Odd tree ensembles: the trees engine predicts as the runtime does on any row, or is not used."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from odd.ensembles import Odd, draw
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.kernels.summing import sum_leaves
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.reading.links import LinkedEnsemble
from onnxplain_server.trees.reading.refusal import Refusal

COUNT = int(os.environ.get("TEST_ODD_TREES", "300"))
"""Ensembles; `make torture` draws more."""
FIRST = int(os.environ.get("TEST_ODD_TREES_FROM", "0"))
_PARTS = 4


def fault(odd: Odd, pool: BlockPool) -> str:
    """Compare the trees of a model with its predictions; return what differs."""
    try:
        model = load(odd.model.SerializeToString())
    except ExplainError as refused:
        return "" if refused.message else "refused without a reason"
    trees = model.trees
    if isinstance(trees, Refusal):
        return "" if trees.reason else "not read without a reason"
    try:
        predicted = model.predict({"X": odd.rows}).astype(np.float64)
    except ExplainError as failed:
        return f"the runtime fails, and the trees answer: {failed.message}"
    sums = trees.ensemble if isinstance(trees, LinkedEnsemble) else trees
    assert isinstance(sums, Ensemble)
    codes = np.stack([sums.codes(j, column) for j, column in enumerate(odd.rows.T)])
    leaves = sum_leaves(sums, codes, pool)
    answered = leaves @ sums.matrix.T + sums.offset
    if isinstance(trees, LinkedEnsemble):
        answered = trees.to_outputs(leaves)
    if answered.shape != predicted.shape:
        return f"{answered.shape[1]} columns for {predicted.shape[1]}"
    wrong = ~np.isclose(answered, predicted, rtol=1e-5, atol=2e-6)
    if not wrong.any():
        return ""
    row = int(np.argmax(wrong.any(axis=1)))
    return f"{answered[row]} where the runtime gives {predicted[row]}, at {odd.rows[row]}"


@pytest.mark.parametrize("part", range(_PARTS))
def test_odd_tree_ensembles_predict_as_the_runtime_does_or_are_refused(make, part: int) -> None:
    with ThreadPoolExecutor(1) as threads:
        pool = BlockPool(threads, Ledger(make.host()))
        drawn = ((seed, draw(seed)) for seed in range(FIRST + part, FIRST + COUNT, _PARTS))
        faults = ((seed, odd.told, fault(odd, pool)) for seed, odd in drawn)
        found = [f"{seed}: {told}: {text}" for seed, told, text in faults if text]
    assert found == []
