"""Scores of trees whose leaves lack targets: as onnxruntime answers, or refused with the reason.

The expected answers are worked by hand, and compared with the runtime itself.
"""

from typing import Any

import numpy as np
import onnxruntime as ort
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxplain_server.adapters.onnx import load
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.kernels.summing import sum_leaves
from onnxplain_server.trees.reading.ensemble import Ensemble, read_ensemble
from onnxplain_server.trees.reading.links import LinkedEnsemble
from onnxplain_server.trees.reading.refusal import Refusal

ML = "ai.onnx.ml"
ROWS = np.array([[-1.0], [1.0]], np.float32)


def logistic(score: float) -> float:
    return float(1 / (1 + np.exp(-score)))


def shares(score: float) -> list[float]:
    """Two probabilities, of which the first is that of a score above the second's."""
    return [logistic(score), logistic(-score)]


HALF = logistic(0.5)
BASE, CLASSES, ZERO = (
    "the runtime adds a base value to a target only in rows that reach a leaf of it",
    "the runtime treats its two classes differently from row to row",
    "the sum over its trees goes through SOFTMAX_ZERO, where a score of 0 gets no share",
)


def stump(kind: str, weights, *, leaf_value: float = 0.0, **attributes: Any):
    """One tree: leaf 1 below 0 and leaf 2 above; weights are (leaf, target, weight)."""
    stem = "class" if kind == "Classifier" else "target"
    leaves, targets, values = zip(*weights, strict=True)
    of_leaves: dict[str, Any] = {
        f"{stem}_treeids": [0] * len(weights),
        f"{stem}_nodeids": leaves,
        f"{stem}_ids": targets,
        f"{stem}_weights": [float(value) for value in values],
    }
    node = helper.make_node(
        f"TreeEnsemble{kind}",
        ["X"],
        ["label", "y"] if kind == "Classifier" else ["y"],
        domain=ML,
        nodes_treeids=[0, 0, 0],
        nodes_nodeids=[0, 1, 2],
        nodes_featureids=[0, 0, 0],
        nodes_modes=["BRANCH_LEQ", "LEAF", "LEAF"],
        nodes_values=[0.0, leaf_value, leaf_value],
        nodes_truenodeids=[1, 0, 0],
        nodes_falsenodeids=[2, 0, 0],
        **of_leaves,
        **attributes,
    )
    return model_of(node, 3)


def numbered(**attributes: Any):
    """One tree of ai.onnx.ml 5: leaves 0 (1, for target 0) and 1 (-2, for target 1)."""
    tensors = {
        "nodes_modes": np.array([0], np.uint8),
        "nodes_splits": np.zeros(1, np.float32),
        "leaf_weights": np.array([1, -2], np.float32),
    }
    packed = {name: numpy_helper.from_array(np.array(values)) for name, values in tensors.items()}
    given: dict[str, Any] = {"n_targets": 2, **attributes, **packed}
    node = helper.make_node(
        "TreeEnsemble",
        ["X"],
        ["y"],
        domain=ML,
        nodes_featureids=[0],
        nodes_truenodeids=[0],
        nodes_trueleafs=[1],
        nodes_falsenodeids=[1],
        nodes_falseleafs=[1],
        tree_roots=[0],
        leaf_targetids=[0, 1],
        **given,
    )
    return model_of(node, 5)


def model_of(node, version: int):
    typed = {"label": TensorProto.INT64, "y": TensorProto.FLOAT}
    graph = helper.make_graph(
        [node],
        "trees",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 1])],
        [helper.make_tensor_value_info(name, typed[name], None) for name in node.output],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, version)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def regressor(weights, count: int, **attributes: Any):
    return stump("Regressor", weights, n_targets=count, **attributes)


def classifier(weights, count: int = 2, **attributes: Any):
    return stump("Classifier", weights, classlabels_int64s=[*range(count)], **attributes)


FIRST, SECOND, EITHER = [(1, 0, 0.5)], [(1, 1, 0.5)], [(1, 0, 1), (2, 1, -2)]
FULL = [(1, 0, 1), (1, 1, 0.25), (2, 0, 2), (2, 1, 0.5)]
CASES: dict[str, tuple[Any, Any]] = {
    "a base value for a target without any leaf is not added": (
        regressor([(1, 0, 1), (2, 0, 3)], 2, base_values=[0.5, 7.0]),
        [[1.5, 0], [3.5, 0]],
    ),
    "nor is one for a target that some rows have no leaf of": (
        regressor(EITHER, 2, base_values=[0.5, 7.0]),
        BASE,
    ),
    "nor behind a logistic function": (
        regressor(EITHER, 2, base_values=[0.5, 7.0], post_transform="LOGISTIC"),
        BASE,
    ),
    "nor to an average": (
        regressor(EITHER, 2, base_values=[0.5, 7.0], aggregate_function="AVERAGE"),
        BASE,
    ),
    "a base value of 0 does not matter": (
        regressor(EITHER, 2, base_values=[0.0, 0.0]),
        [[1, 0], [0, -2]],
    ),
    "a target that each row has a leaf of gets its base value": (
        regressor(FULL, 2, base_values=[0.5, 7.0]),
        [[1.5, 7.25], [2.5, 7.5]],
    ),
    "a single target is a leaf's threshold where it has no weight": (
        regressor([(1, 0, 1)], 1, leaf_value=6.0),
        [[1], [6]],
    ),
    "and its first weight of several": (
        regressor([(1, 0, 1), (1, 0, 2), (2, 0, 3)], 1),
        [[1], [3]],
    ),
    "of several targets all weights count": (
        regressor([(1, 0, 1), (1, 0, 2), (2, 0, 3)], 2),
        [[3, 0], [3, 0]],
    ),
    "a link behind a single target is none": (
        regressor([(1, 0, 1), (2, 0, 3)], 1, post_transform="LOGISTIC"),
        [[1], [3]],
    ),
    "weights of the first class are those of the second": (
        classifier(FIRST),
        [[0.5, 0.5], [1, 0]],
    ),
    "with a base value only where there is a leaf": (classifier(FIRST, base_values=[1.0]), CLASSES),
    "behind a logistic function": (
        classifier(FIRST, post_transform="LOGISTIC"),
        [[1 - HALF, HALF], [0.5, 0.5]],
    ),
    "but behind no softmax": (classifier(FIRST, post_transform="SOFTMAX"), [[0.5, 0.5], [1, 0]]),
    "weights of the second class alone are odd without a leaf": (classifier(SECOND), CLASSES),
    "but not behind a logistic function": (
        classifier(SECOND, post_transform="LOGISTIC"),
        [[0.5, HALF], [0.5, 0.5]],
    ),
    "nor where one is negative": (classifier([(1, 1, -0.5)]), [[0, -0.5], [0, 0]]),
    "leaves of one class or the other": (classifier(EITHER), CLASSES),
    "behind a logistic function too": (classifier(EITHER, post_transform="LOGISTIC"), CLASSES),
    "behind a softmax too": (classifier(EITHER, post_transform="SOFTMAX"), CLASSES),
    "one base value is the first class's": (
        classifier(FULL, base_values=[8.0]),
        [[9, 0.25], [10, 0.5]],
    ),
    "two base values make the second class the first one's": (
        classifier(FULL, base_values=[8.0, 4.0]),
        [[-5, 5], [-6, 6]],
    ),
    "behind a link too": (
        classifier(FULL, base_values=[8.0, -0.5], post_transform="LOGISTIC"),
        [shares(-0.5), shares(-1.5)],
    ),
    "two base values where a class has no leaf": (
        classifier(EITHER, base_values=[1, 2.0]),
        CLASSES,
    ),
    "three classes have their base values in each row": (
        classifier([(1, 0, 1), (2, 1, -2)], 3, base_values=[1.0, 2.0, 3.0]),
        [[2, 2, 3], [1, 0, 3]],
    ),
    "and behind a softmax": (
        classifier([(1, 0, 1), (2, 1, 1)], 3, base_values=[0.0, 0, 0], post_transform="SOFTMAX"),
        np.exp([[1, 0, 0], [0, 1, 0]]) / (np.exp(1) + 2),
    ),
    "a single class has no link": (
        classifier([(1, 0, 1), (2, 0, 3)], 1, post_transform="LOGISTIC", base_values=[1.0]),
        [[2], [4]],
    ),
    "a score of 0 gets nothing of a SOFTMAX_ZERO": (
        regressor(EITHER, 2, post_transform="SOFTMAX_ZERO"),
        ZERO,
    ),
    "of ai.onnx.ml 5 likewise": (numbered(post_transform=3), ZERO),
    "scores that are never 0 do": (
        regressor(FULL, 2, post_transform="SOFTMAX_ZERO"),
        [shares(0.75), shares(1.5)],
    ),
    "number 1 is the logistic function": (
        numbered(post_transform=1),
        [[logistic(1), 0.5], [0.5, logistic(-2)]],
    ),
    "number 2 is the softmax": (
        numbered(post_transform=2),
        [shares(1), shares(2)],
    ),
}


@pytest.mark.parametrize("name", CASES)
def test_trees_answer_as_the_runtime_where_leaves_lack_targets(threads, ledger, name: str) -> None:
    proto, expected = CASES[name]
    trees = load(proto.SerializeToString()).trees
    if isinstance(trees, Refusal):
        assert trees.reason == expected
        return
    sums = trees.ensemble if isinstance(trees, LinkedEnsemble) else trees
    assert isinstance(sums, Ensemble)
    leaves = sum_leaves(sums, sums.codes(0, ROWS[:, 0])[np.newaxis], BlockPool(threads, ledger))
    answered = leaves @ sums.matrix.T + sums.offset
    if isinstance(trees, LinkedEnsemble):
        answered = trees.to_outputs(leaves)
    runtime = ort.InferenceSession(proto.SerializeToString()).run(["y"], {"X": ROWS})[0]
    assert runtime == pytest.approx(np.array(expected), rel=1e-6)
    assert answered == pytest.approx(np.array(expected), rel=1e-6)


def test_three_classes_of_which_a_row_has_no_weight_are_refused_as_the_runtime_fails() -> None:
    proto = classifier([(1, 0, 1)], 3)
    del proto.graph.output[0]
    reason = "the runtime fails in rows that reach no leaf with a weight"
    assert read_ensemble(proto) == Refusal(reason)
    with pytest.raises(Exception, match="narrowing_error"):
        ort.InferenceSession(proto.SerializeToString()).run(["y"], {"X": ROWS})
