"""Trees of a model: boosted or a forest, and the rows that reach each leaf."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnxplain_server.trees.kernels.leaf_visits import count_leaf_visits
from onnxplain_server.trees.reading.ensemble import read_tree_sums
from onnxplain_server.trees.reading.forest import Forest, read_forest
from onnxplain_server.trees.reading.refusal import Refusal

ROOT = Path(__file__).parents[2]
MODELS = ROOT / "models"
FORESTS = [
    *sorted((ROOT / "golden/featurevectors").glob("*/model.onnx")),
    *sorted(MODELS.glob("sklearn_random_forest*.onnx")),
]
BOOSTED = [
    path
    for start in ("catboost", "lightgbm", "xgboost", "sklearn_gradient", "sklearn_hist")
    for path in sorted(MODELS.glob(f"{start}*.onnx"))
]


@pytest.mark.parametrize("path", FORESTS, ids=lambda path: f"{path.parent.name}-{path.stem}")
def test_random_forests_are_not_boosted(path: Path) -> None:
    forest = read_forest(onnx.load(path))

    assert isinstance(forest, Forest)
    assert not forest.is_boosted


@pytest.mark.parametrize("path", BOOSTED, ids=lambda path: path.stem)
def test_boosted_trees_are_boosted_whatever_follows_their_sum(path: Path) -> None:
    forest = read_forest(onnx.load(path), 5)

    assert isinstance(forest, Forest)
    assert forest.is_boosted


def test_a_model_without_trees_is_refused_as_a_forest() -> None:
    refusal = read_forest(onnx.load(MODELS / "sklearn_linear.onnx"))

    assert refusal == Refusal("the model has no trees")


@pytest.mark.parametrize("path", FORESTS[:2], ids=lambda path: path.parent.name)
def test_rows_reach_the_leaves_that_scikit_learns_rules_lead_to(path: Path) -> None:
    """Walked by hand through the attributes of the operator, for a few rows."""
    model = onnx.load(path)
    ensemble = read_tree_sums(model)
    assert not isinstance(ensemble, Refusal)
    attributes = {a.name: onnx.helper.get_attribute_value(a) for a in model.graph.node[0].attribute}
    keys = list(zip(attributes["nodes_treeids"], attributes["nodes_nodeids"], strict=True))
    place = {key: position for position, key in enumerate(keys)}
    rows = np.random.default_rng(0).normal(size=(4, len(ensemble.axes))).astype(np.float32)
    expected = np.zeros(len(keys), dtype=int)
    for row in rows:
        for tree in sorted(set(attributes["nodes_treeids"])):
            node = place[tree, 0]
            while attributes["nodes_modes"][node] != b"LEAF":
                value = row[attributes["nodes_featureids"][node]]
                side = "true" if value <= np.float32(attributes["nodes_values"][node]) else "false"
                node = place[tree, attributes[f"nodes_{side}nodeids"][node]]
            expected[node] += 1

    counts = count_leaf_visits(ensemble, tuple(rows.T))

    assert counts.tolist() == expected[ensemble.leaf].tolist()
