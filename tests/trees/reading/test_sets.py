"""Sets of categories in trees: numbers between two categories go where onnxruntime sends them."""

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.kernels.summing import sum_leaves
from onnxplain_server.trees.reading.categories import read_categories
from onnxplain_server.trees.reading.ensemble import Ensemble, read_ensemble

BETWEEN = [59, 59.5, 60, -0.5, 0, 0.99, 1, -1, -1.5, 3, 3.4, 7.5, np.nan, np.inf, -np.inf, 3e9]


def member(values, dtype, *, before=None, is_missing_true: bool = False):
    """A stump of ai.onnx.ml 5: 1 for the values of a set, else 0; `before` comes first."""
    node = helper.make_node(
        "TreeEnsemble",
        ["x"] if before else ["X"],
        ["y"],
        domain="ai.onnx.ml",
        n_targets=1,
        aggregate_function=1,
        post_transform=0,
        tree_roots=[0],
        nodes_modes=numpy_helper.from_array(np.array([6], np.uint8)),
        nodes_featureids=[0],
        nodes_splits=numpy_helper.from_array(np.zeros(1, dtype)),
        nodes_truenodeids=[0],
        nodes_trueleafs=[1],
        nodes_falsenodeids=[1],
        nodes_falseleafs=[1],
        nodes_missing_value_tracks_true=[int(is_missing_true)],
        leaf_targetids=[0, 0],
        leaf_weights=numpy_helper.from_array(np.array([1, 0], dtype)),
        membership_values=numpy_helper.from_array(np.array([*values, np.nan], dtype)),
    )
    kind = TensorProto.FLOAT if dtype == np.float32 else TensorProto.DOUBLE
    graph = helper.make_graph(
        [*([before] if before else []), node],
        "sets",
        [helper.make_tensor_value_info("X", kind, [None, 1])],
        [helper.make_tensor_value_info("y", kind, None)],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 5)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


SETS = {
    "small": [3, 7.5, 0],
    "one beyond 30": [59, 0, 3],
    "one below 0": [-1, 3],
    "many": [*range(0, 62, 2), 59],
}


@pytest.mark.parametrize("is_missing_true", [False, True])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("name", SETS)
def test_sets_hold_what_the_runtime_says(
    threads, ledger, name: str, dtype, is_missing_true: bool
) -> None:
    """It truncates a value before it looks into a large set, and takes -0.5 for 0."""
    proto = member(SETS[name], dtype, is_missing_true=is_missing_true)
    rows = np.array(BETWEEN, dtype)
    expected = ort.InferenceSession(proto.SerializeToString()).run(None, {"X": rows[:, None]})[0]
    view = read_ensemble(proto)
    assert isinstance(view, Ensemble)
    pool = BlockPool(threads, ledger)
    assert sum_leaves(view, view.codes(0, rows)[None], pool).tolist() == expected.tolist()
    assert expected[BETWEEN.index(-0.5), 0] == (name in {"one beyond 30", "many"})


def test_a_double_is_compared_with_members_in_double(threads, ledger) -> None:
    proto = member([0.1], np.float64)
    view = read_ensemble(proto)
    assert isinstance(view, Ensemble)
    rows = np.array([0.1, np.float32(0.1)])
    sums = sum_leaves(view, view.codes(0, rows)[None], BlockPool(threads, ledger))
    expected = ort.InferenceSession(proto.SerializeToString()).run(None, {"X": rows[:, None]})[0]
    assert sums.tolist() == expected.tolist() == [[1], [0]]


@pytest.mark.parametrize(("operator", "categories"), [("Identity", {0}), ("Sin", set())])
def test_features_that_are_only_looked_up_are_categories(operator: str, categories) -> None:
    proto = member([1, 2], np.float32, before=helper.make_node(operator, ["X"], ["x"]))
    assert read_categories(proto) == categories


def test_a_feature_that_is_also_used_as_a_number_is_none(regressor) -> None:
    equal, less = ((0, "EQ", 1.0), [1.0], [2.0]), ((0, "LEQ", 1.0), [1.0], [2.0])
    assert read_categories(regressor([equal, ((1, "LT", 0.0), equal, [3.0])], 2)) == {0}
    assert read_categories(regressor([equal, less], 1)) == set()
