"""Trees beside linear functions: effects by averages of the runtime's predictions."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from onnx import NodeProto, TensorProto, helper, numpy_helper
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.background import merge
from onnxplain_server.effects.engine import PiecewiseConstant
from onnxplain_server.trees.exact import Exact
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.model_check import check_trees, refuse_missing
from onnxplain_server.trees.reading.ensemble import read_ensemble
from onnxplain_server.trees.reading.refusal import Refusal
from onnxplain_server.trees.reading.sums.with_trees import EnsembleWithLinear
from onnxplain_server.trees.with_linear import ExactWithLinear

ML = "ai.onnx.ml"
WIDTH, N_ROWS = 4, 24
CATEGORY = 3
"""Feature whose values are 0, 1 and 2."""


def grown(rng: np.random.Generator, depth: int = 3):
    if depth == 0 or rng.random() < 0.15:
        return rng.normal(size=1).tolist()
    test = (int(rng.integers(WIDTH)), "LEQ", float(rng.integers(-2, 3)))
    return (test, grown(rng, depth - 1), grown(rng, depth - 1))


class Drawn:
    """Nodes of one graph, with drawn trees and coefficients."""

    def __init__(self, seed: int, collected) -> None:
        self.rng = np.random.default_rng(seed)
        self._collected = collected
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def constant(self, values) -> str:
        name = f"c{len(self.constants)}"
        self.constants.append(numpy_helper.from_array(np.asarray(values), name))
        return name

    def add(self, op_type: str, *inputs: str, **attributes) -> str:
        output = f"t{len(self.nodes)}"
        domain = ML if op_type[:4] in {"Tree", "Line", "Scal", "OneH"} else ""
        self.nodes.append(
            helper.make_node(op_type, list(inputs), [output], domain=domain, **attributes)
        )
        return output

    def trees(self) -> str:
        own = self._collected([grown(self.rng) for _ in range(4)])
        return self.add("TreeEnsembleRegressor", "X", n_targets=1, **own)

    def numbers(self, *shape: int):
        return self.rng.normal(size=shape).astype(np.float32)

    def line(self, of: str = "X", width: int = WIDTH, targets: int = 1) -> str:
        coefficients = self.numbers(targets * width)
        coefficients[0] = 0  # as of a lasso
        return self.add(
            "LinearRegressor",
            of,
            targets=targets,
            coefficients=coefficients.tolist(),
            intercepts=self.numbers(targets).tolist(),
        )

    def scaled(self) -> str:
        scales = np.exp(self.numbers(WIDTH)).tolist()
        return self.add("Scaler", "X", offset=self.numbers(WIDTH).tolist(), scale=scales)


def weighted_vote(g: Drawn) -> str:
    parts = [g.trees(), g.line(g.scaled())]
    weights = [g.constant(g.numbers(1)) for _ in parts]
    return g.add("Sum", *(g.add("Mul", *pair) for pair in zip(parts, weights, strict=True)))


def bags(g: Drawn) -> str:
    layers = []
    for _ in range(3):
        chosen = g.add("Gather", "X", g.constant(np.array([0, 2, 3, 2])), axis=1)
        vote = g.add("Mean", g.trees(), g.line(chosen, 4))
        layers.append(g.add("Reshape", vote, g.constant(np.array([1, -1, 1]))))
    joined = g.add("Concat", *layers, axis=0)
    return g.add("ReduceMean", joined, axes=[0], keepdims=0)


def stack(g: Drawn) -> str:
    return g.line(g.add("Concat", g.trees(), g.line(), "X", axis=1), 2 + WIDTH)


def components(g: Drawn) -> str:
    turned = g.add("MatMul", g.scaled(), g.constant(g.numbers(WIDTH, 2)))
    shifted = g.add("Add", turned, g.constant(g.numbers(2)))
    product = g.add(
        "Gemm", shifted, g.constant(g.numbers(1, 2)), g.constant(g.numbers(1)), transB=1, alpha=0.5
    )
    return g.add("Sub", g.trees(), product)


def categories(g: Drawn) -> str:
    code = g.add("Gather", "X", g.constant(np.array([CATEGORY])), axis=1)
    hot = g.add("OneHotEncoder", code, cats_int64s=[0, 1], zeros=1)
    flat = g.add("Reshape", hot, g.constant(np.array([-1, 2])))
    numbers = g.add("Gather", "X", g.constant(np.array([0, 1])), axis=1)
    return g.add("Add", g.trees(), g.line(g.add("Concat", flat, numbers, axis=1), 4))


def two_outputs(g: Drawn) -> str:
    both = g.add("Concat", g.trees(), g.trees(), axis=1)
    return g.add("Add", both, g.line(targets=2))


FORMS = (weighted_vote, bags, stack, components, categories, two_outputs)


class Case:
    """A drawn model, weighted rows, the engine, and effects by the runtime."""

    def __init__(self, form, seed: int, collected, model_of, ledger, threads) -> None:
        g = Drawn(seed, collected)
        last = form(g)
        proto = model_of(g.nodes, WIDTH, [last], constants=g.constants)
        self.model, self.ledger, self.threads = load(proto.SerializeToString()), ledger, threads
        rows = g.rng.integers(-3, 4, (N_ROWS, WIDTH)) / g.rng.choice([1.0, 2.0], WIDTH)
        rows[:, CATEGORY] = g.rng.integers(0, 3, N_ROWS)
        names = tuple(f"x{j}" for j in range(WIDTH))
        self.features = Features(names, tuple(rows.T), (np.dtype(np.float32),) * WIDTH, "X")
        weights = g.rng.integers(1, 4, N_ROWS).astype(float)
        self.background = merge(self.features, weights, np.arange(N_ROWS))
        self.rows = np.stack(self.background.columns, axis=1)
        self.rng = g.rng
        trees = self.model.trees
        assert isinstance(trees, EnsembleWithLinear)
        self.trees: EnsembleWithLinear = trees

    def engine(self) -> ExactWithLinear:
        ensemble, count = self.trees.ensemble, len(self.trees.ensemble.offset)
        outputs, names = np.arange(count), tuple(f"y{k}" for k in range(count))
        leaves = Leaves(ensemble)
        exact = Exact(ensemble, leaves, self.background, names, outputs, self.ledger, self.threads)
        return ExactWithLinear(exact, self.trees.linear)

    def predict(self, rows):
        return self.model.predict({"X": rows.astype(np.float32)}).astype(float)

    def average(self, features, points, weights=None):
        """Average over the rows with features at points: (n_points, n_outputs)."""
        weights = self.background.weights if weights is None else weights
        effect = []
        for point in points:
            hybrid = self.rows.copy()
            hybrid[:, list(features)] = point
            effect.append(np.average(self.predict(hybrid), axis=0, weights=weights))
        return np.array(effect)


@pytest.fixture(
    params=[(f, seed) for f in FORMS for seed in range(2)], ids=lambda p: f"{p[0].__name__} {p[1]}"
)
def case(request, collected, model, ledger, threads) -> Case:
    form, seed = request.param
    return Case(form, seed, collected, model, ledger, threads)


def close(actual, expected) -> bool:
    return bool(np.asarray(actual) == pytest.approx(np.asarray(expected), rel=1e-5, abs=1e-5))


def check_effects(case: Case, weights=None) -> None:
    """Compare effects of single features, pairs and a triple; of replicates, where they weigh."""
    engine, every = case.engine(), range(WIDTH)
    given = [case.background.weights] if weights is None else weights
    wholes: list[dict[tuple[int, ...], Any]] = [{} for _ in given]

    def replicates(values):
        return [values] if weights is None else values

    for single in engine.single(every, weights):
        j, rest = single.feature, [k for k in every if k != single.feature]
        for known, w, own, others in zip(
            wholes, given, replicates(single.own), replicates(single.others), strict=True
        ):
            known[j,] = case.average([j], case.rows[:, [j]], w)
            assert close(own[w > 0], known[j,][w > 0])
            assert close(others[w > 0], case.average(rest, case.rows[:, rest], w)[w > 0])
    groups = [*combinations(every, 2), *combinations(every, 3)]
    for joint in engine.joint(groups, weights):
        group = joint.features
        for known, w, whole, pure in zip(
            wholes, given, replicates(joint.whole), replicates(joint.pure), strict=True
        ):
            known[group] = case.average(group, case.rows[:, list(group)], w)
            assert close(whole[w > 0], known[group][w > 0])
            expected = sum(
                (-1) ** (len(group) - size) * known[part]
                for size in range(1, len(group) + 1)
                for part in combinations(group, size)
            )
            apart = (pure - expected)[w > 0]
            assert close(apart - apart[0], 0 * apart)  # up to a constant
    groups = list(combinations(every, 2))
    both = zip(engine.wholes(groups, weights), engine.own_and_others(groups, weights), strict=True)
    for group, (whole, (own, others)) in zip(groups, both, strict=True):
        away = tuple(k for k in every if k not in group)
        for known, w, *effects in zip(
            wholes, given, *map(replicates, (whole, own, others)), strict=True
        ):
            for effect, features in zip(effects, (group, group, away), strict=True):
                assert close(effect[w > 0], known[features][w > 0])


def test_effects_at_the_rows_are_averages_of_predictions(case: Case) -> None:
    assert close(case.engine().outputs(), case.predict(case.rows))
    check_effects(case)


def test_effects_under_other_weights(case: Case) -> None:
    check_effects(case, case.rng.integers(0, 3, (2, len(case.rows))).astype(float) + np.eye(2, 1))


def test_curves_individual_and_shuffled_predictions(case: Case) -> None:
    engine, rows = case.engine(), case.rows
    points = case.rng.normal(size=(5, 2)).astype(np.float32).astype(float)
    points[:, 1] = [0, 1, 2, 0.5, 7]
    for features in ([0], [CATEGORY], [0, CATEGORY]):
        at = points[:, [[0, 1][feature == CATEGORY] for feature in features]]
        assert close(engine.curve(features, list(at.T)), case.average(features, at))
        cube = engine.individual(features, list(at.T))
        order = case.rng.permutation(len(rows))
        shuffled = rows.copy()
        shuffled[:, features] = rows[order][:, features]
        assert close(engine.permuted(features, [order])[0], case.predict(shuffled))
        for number, point in enumerate(at):
            moved = rows.copy()
            moved[:, features] = point
            assert close(cube[:, number], case.predict(moved))


def test_the_check_sees_a_wrong_coefficient(case: Case) -> None:
    pool = BlockPool(case.threads, case.ledger)
    assert check_trees(case.trees, case.model, case.background, pool) is None
    column = int(np.argmax(np.abs(case.trees.linear.coefficients).sum(axis=0)))
    case.trees.linear.coefficients[:, column] *= 1.001
    refusal = check_trees(case.trees, case.model, case.background, pool)
    assert refusal is not None
    assert "its trees and linear part add up to" in refusal.reason


@pytest.mark.parametrize("odd", [np.nan, np.inf])
def test_a_value_of_which_no_number_can_be_made_is_told_and_no_effect(
    odd, collected, model, ledger, threads
) -> None:
    """Also where the coefficient is 0: the runtime's prediction is not finite."""
    case = Case(weighted_vote, 0, collected, model, ledger, threads)
    assert refuse_missing(case.trees.linear, case.features) is None
    assert not np.isfinite(case.predict(np.array([[odd, 0, 0, 0]]))).any()
    with pytest.raises(ExplainError, match="not finite for some rows when x0 = ") as raised:
        case.engine().curve([0], [np.array([odd])])
    assert raised.value.reason is Reason.NON_FINITE_PREDICTION
    case.features.columns[0][1] = odd
    refusal = refuse_missing(case.trees.linear, case.features)
    assert refusal is not None
    assert "takes 'x0', which has missing or infinite values" in refusal.reason


def test_only_features_without_a_linear_part_have_steps(collected, model, ledger, threads) -> None:
    engine = Case(categories, 0, collected, model, ledger, threads).engine()
    assert isinstance(engine, PiecewiseConstant)
    steps = [engine.breakpoints(j) is not None for j in range(WIDTH)]
    assert steps == [False, False, True, False]


@pytest.mark.parametrize(
    ("op_type", "attributes", "reason"),
    [
        ("LinearRegressor", {"coefficients": [1.0]}, "has 1 coefficients"),
        ("LinearRegressor", {"coefficients": [1.0] * 4, "post_transform": "PROBIT"}, "PROBIT"),
        ("Gemm", {"transA": 1}, "combines rows"),
    ],
)
def test_linear_operators_that_are_none_are_refused(
    op_type, attributes, reason, collected, model
) -> None:

    g = Drawn(0, collected)
    matrix = [g.constant(g.numbers(WIDTH, 1))] if op_type == "Gemm" else []
    last = g.add("Add", g.trees(), g.add(op_type, "X", *matrix, **attributes))
    read = read_ensemble(model(g.nodes, WIDTH, [last], constants=g.constants))
    assert isinstance(read, Refusal)
    assert reason in read.reason
