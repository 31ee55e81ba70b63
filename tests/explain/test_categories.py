"""Models that ask for categories: both engines and all methods, on rows with odd categories."""

from collections import Counter
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.helper import get_attribute_value
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1.table_pb2 import Column
from onnxplain_server.adapters.onnx import load
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.model import Scale
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.methods.feature_vectors.paths import of_ensemble
from onnxplain_server.trees.reading import shared_nodes
from onnxplain_server.trees.reading.ensemble import Ensemble, read_tree_sums
from onnxplain_server.trees.reading.refusal import Refusal

MODELS = Path(__file__).parents[1] / "models"
KINDS = ["regressor", "binary", "3class"]
NAMES = ["region", "area", "floor", "age"]
LABELS = {"binary": ["0", "1"], "3class": ["0", "1", "2"]}
N_ROWS = 120
TREES = service_pb2.ExplainRequest.TREES


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    made = InProcess(threads=2)
    yield made
    made.close()


def houses():
    """Regions and floors, some of them unknown, negative, missing or no whole number: (n, 4)."""
    random = np.random.default_rng(3)
    odd = [-1, 77, 2.5, 3.0000002, 1e9, np.nan]
    region = random.choice([*range(40), *odd], N_ROWS)
    floor = random.choice([*range(7), *odd], N_ROWS)
    age = np.where(random.random(N_ROWS) < 0.1, np.nan, random.uniform(0, 60, N_ROWS))
    columns = (region, random.normal(size=N_ROWS), floor, age)
    return np.column_stack(columns).astype(np.float32)


X = houses()
CLASS = np.random.default_rng(4).integers(0, 3, N_ROWS)


def content(kind: str) -> bytes:
    return (MODELS / f"lightgbm_categorical_{kind}.onnx").read_bytes()


@pytest.fixture
def ask(runner: InProcess, make):
    """Ask one method, given by its name, of a fixture's kind."""

    def asked(kind: str, method: str, engine=None, rows=X, **options):
        request = service_pb2.ExplainRequest(plots=False, feature_columns=NAMES, row_count=N_ROWS)
        request.model.content = content(kind)
        if engine is not None:
            request.engine = engine
        for name, values in zip(NAMES, rows.T, strict=True):
            request.table.columns.columns.append(Column(name=name, numbers=values.astype(float)))
        target = Column(name="y", numbers=CLASS.astype(float))
        if kind in LABELS:
            labels = LABELS[kind]
            target = Column(name="y", strings=[labels[c % len(labels)] for c in CLASS])
        request.table.columns.columns.append(target)
        if method != "feature_vectors":
            request.target_column = "y"
        added = request.methods.add()
        chosen = getattr(added, method)
        chosen.SetInParent()
        for name, value in options.items():
            if isinstance(value, list):
                getattr(chosen, name).extend(value)
            else:
                setattr(chosen, name, value)
        reply = runner.answer(
            Call(ServiceMethod.EXPLAIN, request.SerializeToString()), make.host()
        ).content
        return service_pb2.ExplainResponse.FromString(reply)

    return asked


def numbers(message):
    """All numbers of a message, in order."""
    found: list[float] = []
    for field, value in message.ListFields():
        for item in value if field.is_repeated else [value]:
            if field.message_type is not None:
                found += numbers(item)
            elif isinstance(item, float):
                found.append(item)
    return found


METHODS = [
    ("interactions", {"pairwise_feature_count": 3}),
    ("partial_dependence", {}),
    ("individual_conditional_expectation", {}),
    ("permutation_importance", {}),
    ("average_loss", {}),
    ("firm", {}),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("method", "options"), METHODS, ids=[name for name, _ in METHODS])
def test_both_engines_give_the_same_numbers(ask, kind: str, method: str, options) -> None:
    default = ask(kind, method, **options)
    black_box = ask(kind, method, service_pb2.ExplainRequest.BLACK_BOX, **options)
    ours, theirs = (
        numbers(getattr(answer.explanations[0], method)) for answer in (default, black_box)
    )

    assert default.receipt.engine == TREES, default.receipt.engine_reason
    assert "TREES_DISAGREE" not in [warning.code for warning in default.warnings]
    assert len(ours) == len(theirs) > 1
    np.testing.assert_allclose(ours, theirs, rtol=2e-4, atol=1e-6)


@pytest.mark.parametrize("engine", [TREES, service_pb2.ExplainRequest.BLACK_BOX])
@pytest.mark.parametrize("is_whole", [True, False])
def test_a_grid_of_categories_that_are_whole_numbers_has_no_others(
    ask, engine, is_whole: bool
) -> None:
    """Regions are tested for equality only, and ages are compared."""
    rows = np.nan_to_num(np.rint(X).clip(-9, 99))
    rows[0, 0] += 0 if is_whole else 0.5

    answer = ask("regressor", "partial_dependence", engine, rows, grid_size=9)

    curves = answer.explanations[0].partial_dependence.curves
    grids = {c.features[0]: np.array(c.grid[0].numbers) for c in curves}
    assert answer.receipt.engine == engine
    assert len(grids["region"]) == len(grids["age"]) == 9
    assert bool((grids["region"] % 1 == 0).all()) == is_whole
    assert (grids["age"] % 1).any()


@cache
def loaded(kind: str) -> Any:
    return load(content(kind))


def predict(kind: str, rows):
    return loaded(kind).predict({"X": rows}).astype(float)


@pytest.mark.parametrize("kind", KINDS)
def test_partial_dependence_on_regions_is_that_of_brute_force(ask, kind: str) -> None:
    curves = ask(kind, "partial_dependence").explanations[0].partial_dependence.curves
    for j, curve in enumerate(curves):
        (column,) = curve.grid
        grid = np.array(column.numbers, np.float32)
        for point, expected in zip(grid, np.reshape(curve.values, (len(grid), -1)), strict=True):
            moved = X.copy()
            moved[:, j] = point
            predicted = predict(kind, moved).mean(axis=0)[-len(expected) :]
            assert predicted == pytest.approx(expected, rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("kind", LABELS)
def test_the_exact_search_of_the_swarm_is_what_the_model_does(ask, kind: str) -> None:
    """At random weights, at steps, and at the last number before each step."""
    answer = ask(kind, "swarm", search="EXACT", weight_limit=5.0, zero_offset=0.0)
    random, labels = np.random.default_rng(0), LABELS[kind]
    truth = CLASS % len(labels)
    effects = answer.explanations[0].swarm.effects
    assert len(effects) == len(labels) * len(NAMES)
    for effect in effects:
        rows, j = truth == labels.index(effect.class_name), NAMES.index(effect.feature)
        steps = np.array(effect.curve.weights)
        ends = np.nextafter(steps[1:9].astype(np.float32), np.float32(0)).astype(float)
        for weight in [*random.uniform(0, 5, 5), 1.0, *steps[:9], *ends]:
            moved = X.copy()
            moved[rows, j] *= np.float32(weight)
            place = np.searchsorted(steps, np.float32(weight), side="right") - 1
            score = (predict(kind, moved).argmax(axis=1) == truth).mean()
            assert effect.curve.scores[place] == pytest.approx(score)
    assert max(len(effect.curve.weights) for effect in effects) > 20


def written_paths(kind: str) -> Counter[tuple[int, ...]]:
    """Columns on the paths of the file; of tests for equality that share a branch the first."""
    (node,) = (n for n in onnx.ModelProto.FromString(content(kind)).graph.node if n.attribute
               and n.op_type.startswith("TreeEnsemble"))  # fmt: skip
    given = {attribute.name: get_attribute_value(attribute) for attribute in node.attribute}
    names = ("modes", "featureids", "truenodeids", "falsenodeids")
    where = zip(given["nodes_treeids"], given["nodes_nodeids"], strict=True)
    nodes = dict(zip(where, zip(*(given[f"nodes_{n}"] for n in names), strict=True), strict=True))
    paths: Counter[tuple[int, ...]] = Counter()

    def go(tree: int, place: int, path: tuple[int, ...]) -> None:
        mode, column, true, false = nodes[tree, place]
        if mode == b"LEAF":
            paths[path] += 1
            return
        go(tree, true, (*path, column))
        while nodes[tree, false][:3] == (b"BRANCH_EQ", column, true):
            false = nodes[tree, false][3]
        go(tree, false, (*path, column))

    for tree in set(given["nodes_treeids"]):
        go(tree, 0, ())
    return paths


@pytest.mark.parametrize("kind", KINDS)
def test_feature_vectors_read_a_set_of_categories_as_one_split(ask, kind: str) -> None:
    view = read_tree_sums(onnx.ModelProto.FromString(content(kind)))
    assert isinstance(view, Ensemble)
    paths = of_ensemble(view)
    read: Counter[tuple[int, ...]] = Counter()
    for leaf in paths.leaf:
        node, path = leaf, list[int]()
        while (node := paths.parent[node]) >= 0:
            path.insert(0, int(paths.feature[node]))
        read[tuple(path)] += 1

    answer = ask(kind, "feature_vectors", source="MODEL")

    assert read == written_paths(kind)
    assert answer.explanations[0].feature_vectors.norms[NAMES.index("region")] > 0


@pytest.mark.parametrize("kind", LABELS)
def test_links_that_are_followed_are_no_reason(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Behind a softmax or logistic, the reason is what keeps the sums from being read."""
    monkeypatch.setattr(shared_nodes, "MAX_DEPTH", 1)
    trees = load(content(kind)).trees
    assert isinstance(trees, Refusal)
    assert trees.reason.endswith("is deeper than 1 steps")


def test_a_link_that_no_engine_follows_is_the_reason() -> None:
    probit = onnx.ModelProto.FromString(content("3class"))
    for attribute in probit.graph.node[0].attribute:
        if attribute.name == "post_transform":
            attribute.s = b"PROBIT"
    trees = load(probit.SerializeToString()).trees
    assert trees == Refusal("the sum over its trees goes through PROBIT")


def test_several_softmaxes_are_read_on_the_scale_of_their_margin() -> None:
    twice = onnx.ModelProto.FromString(content("3class"))
    (tree,) = (n for n in twice.graph.node if n.op_type == "TreeEnsembleClassifier")
    copy = twice.graph.node.add()
    copy.CopyFrom(tree)
    copy.output[:] = ["other_label", "others"]
    copy.name = "other"
    output = twice.graph.output.add()
    output.CopyFrom(twice.graph.output[1])
    output.name = "others"
    file = twice.SerializeToString()

    assert load(file).trees == Refusal(
        "each of the outputs is a softmax by itself; its MARGIN is a sum"
    )
    assert isinstance(load(file, Scale.MARGIN).trees, Ensemble)
