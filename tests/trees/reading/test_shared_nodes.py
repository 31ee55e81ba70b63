"""Shared nodes: chains become one condition, other shared subtrees are copied."""

from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime as ort
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.model import Scale
from onnxplain_server.trees.kernels import summing
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.reading import shared_nodes
from onnxplain_server.trees.reading.axes import MISSING, value_of
from onnxplain_server.trees.reading.ensemble import Ensemble, read_ensemble
from onnxplain_server.trees.reading.refusal import Refusal

MODELS = Path(__file__).parents[2] / "models"
ML = "ai.onnx.ml"
KINDS = ["regressor", "binary", "3class"]
CATEGORIES = [-3, -1, 0, 1, 2, 3, 5, 31, 32, 33, 64, 65, 2.5, 2**24, 1e9]
STUMP = ((0, "LEQ", 2.5), [8.0], [16.0])
RANDOMLY = settings(
    max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def runtime(model, rows):
    session = ort.InferenceSession(model.SerializeToString())
    answers = session.run([output.name for output in model.graph.output], {"X": rows})
    return np.concatenate([a.reshape(len(a), -1) for a in answers], axis=1)


@pytest.fixture
def sums(threads, ledger):
    pool = BlockPool(threads, ledger)

    def predict(view, rows):
        codes = np.stack([view.codes(j, column) for j, column in enumerate(rows.T)])
        return summing.sum_leaves(view, codes, pool) @ view.matrix.T + view.offset

    return predict


def view_of(proto) -> Ensemble:
    view = read_ensemble(proto)
    assert isinstance(view, Ensemble), view.reason
    return view


def reason_of(proto) -> str:
    view = read_ensemble(proto)
    assert isinstance(view, Refusal)
    return view.reason


def chain(column, values, target, rest, missing=False):
    """As exporters write "the column is one of the values"."""
    for value in reversed(values):
        rest = ((column, "EQ", value, missing), target, rest)
    return rest


def around(values):
    """Values, their neighbours in float32, and what is no category."""
    exact = np.array(values, np.float32)
    near = [np.nextafter(exact, np.float32(side)) for side in (np.inf, -np.inf)]
    odd = [-0.0, 0.5, 3.4, -7, 99, np.inf, -np.inf, np.nan, np.nan]
    return np.concatenate([exact, *near, np.array(odd, np.float32)])


class Grower:
    """Random trees that share: chains, and true branches that lead to the same subtree.

    Every leaf has a weight of its own; sums of them are exact in float32. Tests for equality send
    missing values where their column does, unless `mixed`.
    """

    def __init__(self, rng, width: int, *, mixed: bool) -> None:
        self.rng, self.width, self.mixed = rng, width, mixed
        self.missing = [self.flip() for _ in range(width)]
        self.weights = iter(rng.permutation(4000) - 2000)
        self.shared: list[Any] = []

    def grow(self, depth: int):
        if not depth or self.rng.random() < 0.15:
            return [float(next(self.weights))]
        column = int(self.rng.integers(self.width))
        if self.rng.random() < 0.5:
            values = self.rng.choice(CATEGORIES, self.rng.integers(1, 6), replace=False)
            missing = self.flip() if self.mixed else self.missing[column]
            subtree = chain(column, values, self.target(depth), self.grow(depth - 1), missing)
        else:
            mode = str(self.rng.choice(["LEQ", "LT", "GTE", "GT", "NEQ"]))
            test = (column, mode, float(self.rng.choice([-0.5, 0.5, 2.5, 31.5])), self.flip())
            subtree = (test, self.target(depth), self.grow(depth - 1))
        return subtree

    def target(self, depth: int):
        """A true branch: onnxruntime takes no other that is shared."""
        if self.shared and self.rng.random() < 0.4:
            return self.shared[self.rng.integers(len(self.shared))]
        subtree = self.grow(depth - 1)
        self.shared.append(subtree)
        return subtree

    def flip(self) -> bool:
        return bool(self.rng.random() < 0.3)


def grown(seed: int, count: int, width: int, *, mixed: bool = False):
    rng = np.random.default_rng(seed)
    grower = Grower(rng, width, mixed=mixed)
    trees = []
    for _ in range(count):
        grower.shared = []
        trees.append(grower.grow(4))
    return trees, rng.choice(around(CATEGORIES), size=(int(rng.integers(2, 30)), width))


@RANDOMLY
@given(seed=st.integers(0, 2**32 - 1))
def test_random_graphs_predict_as_the_runtime_and_by_hand(
    regressor, brute, sums, seed: int
) -> None:
    trees, rows = grown(seed, 4, 3)
    proto = regressor(trees, 3, shared=True)
    predicted = sums(view_of(proto), rows)
    assert predicted.tolist() == runtime(proto, rows).tolist()
    assert predicted.tolist() == brute(trees, rows).predict(rows).tolist()


@RANDOMLY
@given(seed=st.integers(0, 2**32 - 1))
def test_where_tests_differ_on_missing_values_the_runtime_decides_or_trees_are_refused(
    regressor, sums, seed: int
) -> None:
    trees, rows = grown(seed, 2, 2, mixed=True)
    proto = regressor(trees, 2, shared=True)
    view = read_ensemble(proto)
    if isinstance(view, Refusal):
        assert "leads elsewhere" in view.reason
    else:
        assert sums(view, rows).tolist() == runtime(proto, rows).tolist()


@RANDOMLY
@given(seed=st.integers(0, 2**32 - 1))
def test_effects_on_random_graphs_are_those_of_their_definitions(
    regressor, engine, brute, seed: int
) -> None:
    trees, rows = grown(seed, 2, 3)
    rows = rows[:9]
    weights = np.random.default_rng(seed).random(len(rows)) + 0.1
    bound = engine(regressor(trees, 3, shared=True), rows, weights)
    at = np.stack(bound.background.columns, axis=1)
    reference = brute(trees, at, bound.background.weights)
    close: Any = {"rel": 1e-9, "abs": 1e-9}
    for single in bound.single(range(3)):
        j = single.feature
        others = [k for k in range(3) if k != j]
        assert single.own == pytest.approx(reference.partial_dependence([j], at[:, [j]]), **close)
        assert single.others == pytest.approx(
            reference.partial_dependence(others, at[:, others]), **close
        )
    for joint in bound.joint(list(combinations(range(3), 2))):
        group = list(joint.features)
        expected = reference.partial_dependence(group, at[:, group])
        assert joint.whole == pytest.approx(expected, **close)


@RANDOMLY
@given(seed=st.integers(0, 2**32 - 1))
def test_sharing_changes_no_number(regressor, engine, seed: int) -> None:
    """The same trees, with every shared subtree written out by the exporter."""
    trees, rows = grown(seed, 3, 3)
    protos = [regressor(trees, 3, shared=shared) for shared in (True, False)]
    # Where the first tree is one leaf, the runtime adds the weights of merged leaves to it.
    assume(isinstance(read_ensemble(protos[1]), Ensemble))
    shared, plain = (engine(proto, rows) for proto in protos)
    for ours, theirs in zip(shared.single(range(3)), plain.single(range(3)), strict=True):
        assert ours.own == pytest.approx(theirs.own, rel=1e-9, abs=1e-9)
        assert ours.others == pytest.approx(theirs.others, rel=1e-9, abs=1e-9)


def view_of_fixture(kind: str) -> tuple[Ensemble, Any]:
    scale = Scale.RESPONSE if kind == "regressor" else Scale.MARGIN
    content = (MODELS / f"lightgbm_categorical_{kind}.onnx").read_bytes()
    model = load(content, scale)
    assert isinstance(model.trees, Ensemble)
    return model.trees, model


@pytest.mark.parametrize("kind", KINDS)
def test_exported_categories_predict_as_the_runtime_around_every_cut(kind: str, sums) -> None:
    view, model = view_of_fixture(kind)
    rng = np.random.default_rng(0)
    rows = np.column_stack(
        [rng.choice(around(value_of(axis.cuts[axis.cuts < MISSING])), 3000) for axis in view.axes]
    )
    predicted = model.predict({"X": rows}).astype(float)
    assert sums(view, rows) == pytest.approx(predicted, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("kind", KINDS)
def test_exported_categories_are_one_condition_per_split(kind: str) -> None:
    """As many nodes as LightGBM's own trees have, which are 8 leaves with 7 splits each."""
    view, _ = view_of_fixture(kind)
    proto = onnx.load(MODELS / f"lightgbm_categorical_{kind}.onnx")
    (written,) = (
        attribute.strings
        for node in proto.graph.node
        for attribute in node.attribute
        if attribute.name == "nodes_modes"
    )
    assert len(view.feature) == 15 * len(view.roots) < len(written) / 2
    assert np.diff(view.truth.start).max() > 10


def test_a_chain_is_a_set_of_values(regressor) -> None:
    view = view_of(regressor([chain(0, [7, 3, -2, 9], [1.0], [2.0])], 1, shared=True))
    cuts = value_of(view.axes[0].cuts[:-1])
    runs = zip(view.truth.low, view.truth.high, strict=True)
    assert view.feature.tolist() == [0, -1, -1]
    assert [cuts[low - 1] for low, _ in runs] == [-2, 3, 7, 9]
    assert (np.diff(view.truth.start)[0], view.depth) == (4, 1)


def test_a_chain_with_a_second_parent_in_its_middle(regressor, sums) -> None:
    """Above 50 of the other column, 3 is asked for and 7 is not."""
    target = [1.0]
    end = ((0, "EQ", 3), target, [2.0])
    tree = ((1, "GT", 50), end, ((0, "EQ", 7), target, end))
    view = view_of(regressor([tree], 2, shared=True))
    rows = np.array([[3, 60], [7, 60], [3, 40], [7, 40], [4, 40]], np.float32)
    assert sums(view, rows)[:, 0].tolist() == [1, 2, 1, 1, 2]
    assert len(view.feature) == 9


def test_tests_of_two_features_are_no_chain(regressor, sums) -> None:
    target = [1.0]
    tree = ((0, "EQ", 3), target, ((1, "EQ", 3), target, [2.0]))
    view = view_of(regressor([tree], 2, shared=True))
    rows = np.array([[3, 0], [0, 3], [0, 0]], np.float32)
    assert sums(view, rows)[:, 0].tolist() == [1, 1, 2]
    assert view.feature.tolist().count(1) == 1


def test_a_chain_is_read_as_a_node_of_mode_member(regressor) -> None:
    view = view_of(regressor([chain(0, [1.0, 3.0, 2.5], [1.0], [2.0], True)], 1, shared=True))
    same = view_of(member([1.0, 3.0, 2.5], missing=True))
    for name in ("feature", "true", "false", "parent", "leaf"):
        assert getattr(view, name).tolist() == getattr(same, name).tolist()
    assert view.axes[0].cuts.tolist() == same.axes[0].cuts.tolist()
    for ours, theirs in zip(view.truth, same.truth, strict=True):
        assert ours.tolist() == theirs.tolist()


def member(values, *, missing: bool):
    return ensemble_5(
        modes=[6],
        splits=[0.0],
        true=[(0, 1)],
        false=[(1, 1)],
        missing=[int(missing)],
        membership_values=numpy_helper.from_array(np.array([*values, np.nan], np.float32)),
    )


def ensemble_5(*, modes, splits, true, false, missing, roots=(0,), **more):
    """A TreeEnsemble of one column with leaves 1, 2, 4, ...; children are (id, is leaf)."""
    leaf_count = 1 + max(child for child, is_leaf in [*true, *false] if is_leaf)
    node = helper.make_node(
        "TreeEnsemble",
        ["X"],
        ["y"],
        domain=ML,
        n_targets=1,
        aggregate_function=1,
        post_transform=0,
        tree_roots=list(roots),
        nodes_modes=numpy_helper.from_array(np.array(modes, np.uint8)),
        nodes_featureids=[0] * len(modes),
        nodes_splits=numpy_helper.from_array(np.array(splits, np.float32)),
        nodes_truenodeids=[child for child, _ in true],
        nodes_trueleafs=[leaf for _, leaf in true],
        nodes_falsenodeids=[child for child, _ in false],
        nodes_falseleafs=[leaf for _, leaf in false],
        nodes_missing_value_tracks_true=missing,
        leaf_targetids=[0] * leaf_count,
        leaf_weights=numpy_helper.from_array(2.0 ** np.arange(leaf_count, dtype=np.float32)),
        **more,
    )
    graph = helper.make_graph(
        [node],
        "g",
        [helper.make_tensor_value_info("X", TensorProto.FLOAT, [None, 1])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [None, 1])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 5)]
    return helper.make_model(graph, opset_imports=opsets, ir_version=10)


def test_nodes_of_a_tree_ensemble_5_may_be_shared(sums) -> None:
    """3 and 5 lead to node 2, which asks for members, and so does above 4; leaves are 1, 2, 4."""
    proto = ensemble_5(
        modes=[4, 4, 6, 3],
        splits=[3.0, 5.0, 0.0, 4.0],
        true=[(2, 0), (2, 0), (0, 1), (2, 0)],
        false=[(1, 0), (3, 0), (1, 1), (2, 1)],
        missing=[0, 0, 1, 0],
        membership_values=numpy_helper.from_array(np.array([3.0, 7.0, np.nan], np.float32)),
    )
    rows = np.array([[3], [5], [7], [8], [4], [-1], [np.nan]], np.float32)
    view = view_of(proto)
    assert sums(view, rows)[:, 0].tolist() == [1, 2, 1, 2, 4, 4, 4]
    assert len(view.feature) == 5  # nodes 0, 1 and 3 are one: 3, or above 4


def test_a_node_of_several_trees_is_refused() -> None:
    proto = ensemble_5(
        modes=[0, 0, 0],
        splits=[3.0, 5.0, 1.0],
        true=[(2, 0), (2, 0), (0, 1)],
        false=[(1, 1), (2, 1), (3, 1)],
        missing=[0, 0, 0],
        roots=[0, 1],
    )
    assert reason_of(proto) == "its node 2 belongs to several of its tree_roots"


@pytest.mark.parametrize("missing", [False, True])
def test_chains_hold_for_other_types_of_input(collected, model, sums, missing: bool) -> None:
    """Beside a category in float32 a double has many neighbours, and whole numbers none."""
    tree = chain(0, [3, 5, 2**24, 64], [1.0, 0, 0], [2.0, 0, 0], missing)
    node = helper.make_node(
        "TreeEnsembleClassifier",
        ["X"],
        ["label", "y"],
        domain=ML,
        classlabels_int64s=[0, 1, 2],
        **collected([tree], "class", shared=True),
    )
    values = [3, 5, 2**24, 2**24 + 1, 64, 4, -3, 0]
    columns = {
        TensorProto.DOUBLE: np.array([*values, 3 + 1e-15, 5 - 1e-12, 3.5, np.nan]),
        TensorProto.INT64: np.array(values),
    }
    for kind, column in columns.items():
        proto, rows = model([node], 1, ["y"], kind), column[:, np.newaxis]
        assert sums(view_of(proto), rows).tolist() == runtime(proto, rows).tolist()


def test_a_thousand_categories_make_no_deep_tree(regressor, sums) -> None:
    """A chain is longer than any tree may be deep, and counts as one step."""
    count = shared_nodes.MAX_DEPTH + 1000
    attributes = {
        "nodes_treeids": [0] * (count + 2),
        "nodes_nodeids": list(range(count + 2)),
        "nodes_featureids": [0] * (count + 2),
        "nodes_modes": ["BRANCH_EQ"] * count + ["LEAF", "LEAF"],
        "nodes_values": [float(7 * i) for i in range(count)] + [0.0, 0.0],
        "nodes_truenodeids": [count] * count + [0, 0],
        "nodes_falsenodeids": [*range(1, count), count + 1, 0, 0],
        "nodes_missing_value_tracks_true": [0] * (count + 2),
        "target_treeids": [0, 0],
        "target_nodeids": [count, count + 1],
        "target_ids": [0, 0],
        "target_weights": [1.0, 2.0],
    }
    view = view_of(regressor([[0.0]], 1, **attributes))
    rows = np.array([[0.0], [7.0], [8.0], [7.0 * (count - 1)], [7.0 * count]], np.float32)
    assert (view.depth, len(view.feature)) == (1, 3)
    assert sums(view, rows)[:, 0].tolist() == [1, 1, 2, 1, 2]


def test_several_operators_may_share_nodes(regressor, model, sums) -> None:
    """The second one has chains, and a subtree that two of its features lead to."""
    target = ((1, "LEQ", 2.5), [1.0], [2.0])
    tree = chain(0, [3, 1, 40], target, ((1, "GT", 30.0), target, [4.0]))
    parts = [regressor([STUMP], 2), regressor([tree, STUMP, tree], 2, shared=True)]
    nodes = [part.graph.node[0] for part in parts]
    for number, node in enumerate(nodes):
        node.output[0] = f"y{number}"
    for order in (nodes, nodes[::-1]):
        total = helper.make_node("Add", ["y0", "y1"], ["total"])
        proto = model([*order, total], 2, ["total"])
        rows = np.random.default_rng(0).choice(around([1, 2.5, 3, 30, 40]), (300, 2))
        assert sums(view_of(proto), rows).tolist() == runtime(proto, rows).tolist()


def ladder(steps: int):
    """Two ways down at every step: 2 ** steps ways in all."""
    tree: Any = [1.0]
    for j in range(steps):
        tree = ((0, "LEQ", float(j)), tree, tree)
    return tree


def test_shared_subtrees_are_copied_up_to_a_limit(regressor, monkeypatch) -> None:
    proto = regressor([ladder(6)], 1, shared=True)
    monkeypatch.setattr(shared_nodes, "MAX_NODES", 127)
    assert len(view_of(proto).feature) == 127
    monkeypatch.setattr(shared_nodes, "MAX_NODES", 126)
    assert "written out without sharing they have more than 126 nodes" in reason_of(proto)


@pytest.mark.parametrize("steps", [25, 100, 400])
def test_exponentially_many_copies_are_refused(regressor, steps: int) -> None:
    reason = reason_of(regressor([ladder(steps)], 1, shared=True))
    assert reason == (
        "its trees share subtrees, and written out without sharing they have more than "
        "1,000,000 nodes"
    )


def test_a_cycle_that_the_root_leads_to_is_refused(regressor) -> None:
    """Preorder: 0, 1 and 2 are tests, one above the other; 3 to 6 their leaves."""
    proto = regressor(
        [((0, "LEQ", 1), ((0, "LEQ", 2), ((0, "LEQ", 3), [1.0], [2.0]), [3.0]), [4.0])], 1
    )
    nodes = {attribute.name: attribute for attribute in proto.graph.node[0].attribute}
    assert nodes["nodes_truenodeids"].ints[:3] == [1, 2, 3]
    nodes["nodes_truenodeids"].ints[2] = 1
    nodes["nodes_falsenodeids"].ints[0] = 3
    nodes["nodes_treeids"].ints[6] = nodes["target_treeids"].ints[3] = 1  # a tree by itself
    assert "is part of a cycle" in reason_of(proto)


def below(missing: bool):
    return ((1, "LEQ", 4, missing), [1.0, 0.0], [2.0, 0.0])


@pytest.mark.parametrize(
    ("first", "second", "row"),
    [
        pytest.param((False, [1.0, 0]), (True, [1.0, 0]), [np.nan, 0], id="missing values"),
        pytest.param((False, [1.0, 0]), (False, [1.0, 5]), [5, 0], id="second weights"),
        pytest.param((False, below(False)), (False, below(True)), [5, np.nan], id="below"),
    ],
)
def test_tests_that_the_runtime_merges_by_mistake_are_refused(
    regressor, brute, first, second, row
) -> None:
    """The runtime gives another answer than ONNX defines, so neither is taken for exact."""
    (one, target), (other, end) = first, second
    tree = ((0, "EQ", 3, one), target, ((0, "EQ", 5, other), end, [9.0, 9.0]))
    proto, rows = regressor([tree], 2), np.array([row], np.float32)
    assert runtime(proto, rows).tolist() != brute([tree], rows).predict(rows).tolist()
    assert "into the node before it, which leads elsewhere" in reason_of(proto)


@pytest.mark.parametrize("threshold", [65, 0, -5, 5.5])
def test_tests_that_the_runtime_does_not_merge_are_read(regressor, sums, threshold: float) -> None:
    tree = ((0, "EQ", 3, False), [1.0], ((0, "EQ", threshold, True), [1.0], [9.0]))
    proto, rows = regressor([tree], 1), around([3, threshold])[:, np.newaxis]
    assert sums(view_of(proto), rows).tolist() == runtime(proto, rows).tolist()


def test_a_set_is_no_leaf_that_the_runtime_could_merge_with(sums) -> None:
    """Of two sets of one column, the first leads to a set, and the second to a leaf."""
    sets = [3, 4, np.nan, 3, 8, np.nan, 1, np.nan]
    proto = ensemble_5(
        modes=[6, 6, 6],
        splits=[0.0, 0.0, 0.0],
        true=[(1, 0), (0, 1), (2, 1)],
        false=[(2, 0), (1, 1), (3, 1)],
        missing=[0, 0, 0],
        membership_values=numpy_helper.from_array(np.array(sets, np.float32)),
    )
    rows = np.array([[3], [4], [1], [8], [-1], [np.nan]], np.float32)
    assert sums(view_of(proto), rows)[:, 0].tolist() == [1, 2, 4, 8, 8, 8]
    assert runtime(proto, rows)[:, 0].tolist() == [1, 2, 4, 8, 8, 8]
