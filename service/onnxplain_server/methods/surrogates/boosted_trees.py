"""Boosted trees as a surrogate of a model: fitted by scikit-learn, read by the trees engine.

The Python client writes such trees too, with categories and links; no mathematics imports it.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from onnx import ModelProto, TensorProto, helper, numpy_helper

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.trees.reading.ensemble import Ensemble, read_ensemble
from onnxplain_server.trees.reading.refusal import Refusal

_LEAF_ROWS = 10
_MOST_LEAVES = 16
_RATE = 0.12
_TREES = 200
_BINS = 255


@dataclass(frozen=True, slots=True, eq=False)
class BoostedTrees:
    """Boosted trees fitted to one output.

    Attributes
    ----------
    ensemble : Ensemble
        The same trees, with exact partial dependence.
    """

    ensemble: Ensemble
    _fitted: Any

    def predict(self, rows: Matrix) -> Vector:
        """Predict rows: (n_rows,)."""
        with _one_thread():
            predictions: Vector = self._fitted.predict(rows)
        return predictions


def fit_trees(rows: Matrix, target: Vector, seed: int, tree_count: int = _TREES) -> BoostedTrees:
    """Fit boosted trees to the values of a function at rows.

    Parameters
    ----------
    rows : (n_rows, n_features)
        NaN where missing.
    target : (n_rows,)
    seed : int
        The fit is the same for a seed, whatever the threads.
    tree_count : int
    """
    from sklearn.ensemble import HistGradientBoostingRegressor  # noqa: PLC0415 - only some workers have it

    estimator = HistGradientBoostingRegressor(
        learning_rate=_RATE,
        max_iter=tree_count,
        max_leaf_nodes=_MOST_LEAVES,
        min_samples_leaf=_LEAF_ROWS,
        max_bins=_BINS,
        early_stopping=False,
        random_state=seed,
    )
    with _one_thread():
        fitted = estimator.fit(rows, target)
    ensemble = read_ensemble(_onnx_model(fitted, rows.shape[1]))
    assert not isinstance(ensemble, Refusal), ensemble.reason  # noqa: S101 - plain trees
    return BoostedTrees(ensemble, fitted)


def _one_thread() -> AbstractContextManager[Any]:
    """Limit scikit-learn's OpenMP to this thread.

    Several wait for each other busily: trees of so few rows grow no faster by them, and beside
    other fits, or on a busy machine, take twice the processor time and more.
    """
    limit: AbstractContextManager[Any] = _thread_pools().limit(limits=1, user_api="openmp")
    return limit


@cache
def _thread_pools() -> Any:
    """Return the thread pools of the libraries that are loaded, once scikit-learn is."""
    from threadpoolctl import ThreadpoolController  # noqa: PLC0415 - comes with scikit-learn

    return ThreadpoolController()


def _onnx_model(fitted: Any, feature_count: int) -> ModelProto:
    """Write fitted trees as an ONNX model of float64."""
    trees = [stage[0].nodes for stage in fitted._predictors]  # noqa: SLF001 - as sklearn-onnx does
    nodes = np.concatenate(trees)
    is_leaf = nodes["is_leaf"].astype(bool)
    sizes = [len(tree) for tree in trees]
    tree_ids = np.repeat(np.arange(len(trees)), sizes)
    node_ids = np.concatenate([np.arange(size) for size in sizes])
    leaves = np.flatnonzero(is_leaf)
    modes = np.where(is_leaf, "LEAF", "BRANCH_LEQ")
    node = helper.make_node(
        "TreeEnsembleRegressor",
        ["rows"],
        ["prediction"],
        domain="ai.onnx.ml",
        n_targets=1,
        nodes_treeids=tree_ids.tolist(),
        nodes_nodeids=node_ids.tolist(),
        nodes_featureids=np.where(is_leaf, 0, nodes["feature_idx"]).tolist(),
        nodes_modes=modes.tolist(),
        nodes_truenodeids=np.where(is_leaf, 0, nodes["left"]).tolist(),
        nodes_falsenodeids=np.where(is_leaf, 0, nodes["right"]).tolist(),
        nodes_missing_value_tracks_true=np.where(is_leaf, 0, nodes["missing_go_to_left"]).tolist(),
        nodes_values_as_tensor=_tensor(np.where(is_leaf, 0.0, nodes["num_threshold"])),
        target_treeids=tree_ids[leaves].tolist(),
        target_nodeids=node_ids[leaves].tolist(),
        target_ids=[0] * len(leaves),
        target_weights_as_tensor=_tensor(nodes["value"][leaves]),
        base_values_as_tensor=_tensor(np.atleast_1d(fitted._baseline_prediction).ravel()),  # noqa: SLF001
    )
    graph = helper.make_graph(
        [node],
        "surrogate",
        [helper.make_tensor_value_info("rows", TensorProto.DOUBLE, [None, feature_count])],
        [helper.make_tensor_value_info("prediction", TensorProto.DOUBLE, [None, 1])],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("ai.onnx.ml", 3)]
    return helper.make_model(graph, opset_imports=opsets)


def _tensor(values: Array) -> TensorProto:
    return numpy_helper.from_array(np.asarray(values, dtype=np.float64))
