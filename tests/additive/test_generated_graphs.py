"""Generated additive graphs: effects by averages of the runtime's predictions of hybrid rows.

Graphs have fronts of single features, shared subgraphs, linear maps of several and a link, in both
float types, with missing and unknown values.
"""

from __future__ import annotations

from itertools import combinations
from math import comb
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from onnx import NodeProto, TensorProto, helper, numpy_helper
from onnxplain_server.adapters.onnx import OnnxModel, load
from onnxplain_server.additive.check import check_terms, refuse_many_cells, refuse_not_finite
from onnxplain_server.additive.engine import Additive, AdditiveSetup
from onnxplain_server.additive.model import AdditiveModel, TermLink
from onnxplain_server.additive.pair_terms import PairTables
from onnxplain_server.core.interfaces import Host
from onnxplain_server.core.rows import Features, feeds
from onnxplain_server.effects.attributing.games import Game, GameValue, Perturbation
from onnxplain_server.effects.attributing.mixed_rows import RowMixture
from onnxplain_server.effects.background import merge, unmerged
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.trees.reading.refusal import Refusal

ML = "ai.onnx.ml"
N_ROWS, WIDTH = 7, 4
TEXT = 3
"""Feature of words."""
WORDS = ["a", "b", "c"]
UNARY = ("Tanh", "Abs", "Relu", "Neg", "Floor", "Sigmoid", "Sign", "Exp", "IsNaN")


class Grown:
    """A graph that grows by random choices, with a few rows for it."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)
        self.dtype = (np.float32, np.float64)[self.rng.integers(2)]
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []
        kind = helper.np_dtype_to_tensor_dtype(np.dtype(self.dtype))
        self.inputs = [helper.make_tensor_value_info(f"x{j}", kind, [None, 1]) for j in range(TEXT)]
        self.inputs.append(helper.make_tensor_value_info(f"x{TEXT}", TensorProto.STRING, [None, 1]))
        self.final = ""

    def chance(self, share: float) -> bool:
        return bool(self.rng.random() < share)

    def add(self, op_type: str, *inputs: str, domain: str = "", **attributes: Any) -> str:
        output = f"t{len(self.nodes)}"
        self.nodes.append(
            helper.make_node(op_type, list(inputs), [output], domain=domain, **attributes)
        )
        return output

    def constant(self, values, dtype=None) -> str:
        name = f"c{len(self.constants)}"
        array = np.asarray(values, dtype=dtype or self.dtype)
        self.constants.append(numpy_helper.from_array(array, name))
        return name

    def numbers(self, *shape: int):
        return self.rng.normal(size=shape)

    def front(self) -> tuple[str, int]:
        """Return columns of one number each: a tensor, and how many."""
        parts, width = [self.words()] if self.chance(0.7) else [], 0
        width += len(WORDS) - 1 if parts else 0
        for j in range(TEXT):
            for _ in range(1 + self.chance(0.2)):
                parts.append(self.filled(f"x{j}"))
                width += 1
        tensor = self.add("Concat", *parts, axis=1)
        for _ in range(self.rng.integers(0, 4)):
            tensor = self.at_each_place(tensor, width)
        if self.chance(0.3):  # two ways that part and meet
            tensor = self.add("Concat", tensor, self.add("Tanh", tensor), axis=1)
            width *= 2
        if self.chance(0.3):
            chosen = self.rng.integers(0, width, width)
            tensor = self.add("Gather", tensor, self.constant(chosen, np.int64), axis=1)
        return tensor, width

    def words(self) -> str:
        """Encode words, of which one is not known to the model."""
        hot = self.add("OneHotEncoder", f"x{TEXT}", domain=ML, cats_strings=WORDS[:-1], zeros=1)
        shape = self.constant([-1, len(WORDS) - 1], np.int64)
        flat = self.add("Reshape", hot, shape)
        return self.add("Cast", flat, to=TensorProto.DOUBLE) if self.is_double else flat

    @property
    def is_double(self) -> bool:
        return bool(self.dtype == np.float64)

    def filled(self, column: str) -> str:
        """Fill missing values in, and make curves of a column."""
        missing = self.add("IsNaN", column)
        filled = self.add("Where", missing, self.constant([[0.5]]), column)
        return self.at_each_place(filled, 1) if self.chance(0.5) else filled

    def at_each_place(self, tensor: str, width: int) -> str:
        choice = self.rng.integers(5)
        if choice == 0:
            return self.add("Mul", tensor, self.constant(self.numbers(width)))
        if choice == 1:
            return self.add("Sub", self.constant(self.numbers(1, width)), tensor)
        if choice == 2 and not self.is_double:
            own = {"offset": self.numbers(width).tolist(), "scale": self.numbers(width).tolist()}
            return self.add("Scaler", tensor, domain=ML, **own)
        if choice == 3:
            return self.add("Max", tensor, self.constant(self.numbers(width)))
        op_type = str(self.rng.choice(UNARY))
        made = self.add(op_type, tensor)
        kind = TensorProto.DOUBLE if self.is_double else TensorProto.FLOAT
        return self.add("Cast", made, to=kind) if op_type == "IsNaN" else made

    def mixed(self, tensor: str, width: int, targets: int) -> str:
        """Return linear functions of columns."""
        if self.chance(0.3) and targets > 1:
            turned = self.add("MatMul", tensor, self.constant(self.numbers(width, width)))
            tensor = self.add("Add", turned, self.constant(self.numbers(width)))
        choice = self.rng.integers(4)
        if choice == 0 and not self.is_double:
            return self.add(
                "LinearRegressor",
                tensor,
                domain=ML,
                targets=targets,
                coefficients=self.numbers(targets * width).tolist(),
                intercepts=self.numbers(targets).tolist(),
            )
        if choice == 1:
            total = self.add("ReduceSum", tensor, self.constant([1], np.int64), keepdims=1)
            return self.add("MatMul", total, self.constant(self.numbers(1, targets)))
        matrix = self.constant(self.numbers(targets, width))
        bias = self.constant(self.numbers(targets))
        first = self.add("Gemm", tensor, matrix, bias, transB=1, alpha=0.5)
        if choice == 2:
            return first
        second = self.add("MatMul", tensor, self.constant(self.numbers(width, targets)))
        return self.add("Sub", first, self.add("Div", second, self.constant([3.0])))

    def with_pairs(self, tensor: str, width: int, targets: int, total: str) -> str:
        """Add terms of two columns: products, layers, and numbers looked up by both."""
        for _ in range(self.rng.integers(1, 4)):
            chosen = self.constant(self.rng.integers(0, width, 2), np.int64)
            two = self.add("Gather", tensor, chosen, axis=1)
            form = self.rng.integers(3)
            if form == 0:
                own, count = self.add("ReduceProd", two, axes=[1], keepdims=1), 1
            elif form == 1:
                hidden = self.add("MatMul", two, self.constant(self.numbers(2, 3)))
                own, count = self.add("Relu", hidden), 3
            else:
                above = self.add("Greater", two, self.constant(self.numbers(2)))
                places = self.add("Cast", above, to=TensorProto.INT64)
                table = self.constant(self.numbers(2, 2, 2))
                own, count = self.add("GatherND", table, places), 2
            term = self.add("MatMul", own, self.constant(self.numbers(count, targets)))
            total = self.add("Add", total, term)
        return total

    def end(self, tensor: str, targets: int) -> None:
        """Add a link, and outputs made of its results."""
        link = self.rng.choice(["", "Sigmoid", "Softmax", "Exp", "shares"])
        if link == "shares":
            results = self.add("Sigmoid", tensor)
            total = self.add("ReduceSum", results, self.constant([1], np.int64), keepdims=1)
            self.final = self.add("Div", results, total)
            return
        if link == "Exp":  # of moderate numbers
            tensor = self.add("Mul", tensor, self.constant([0.125]))
        if link:
            tensor = self.add(str(link), tensor)
        if self.chance(0.4):
            tensor = self.add("MatMul", tensor, self.constant(self.numbers(targets, 2)))
            tensor = self.add("Add", tensor, self.constant(self.numbers(2)))
        self.final = tensor

    def load(self) -> OnnxModel:
        graph = helper.make_graph(
            self.nodes,
            "grown",
            self.inputs,
            [
                helper.make_tensor_value_info(
                    self.final, self.inputs[0].type.tensor_type.elem_type, None
                )
            ],
            self.constants,
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(ML, 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
        return load(model.SerializeToString())

    def features(self) -> Features:
        columns: list[Any] = []
        for _ in range(TEXT):
            column = self.rng.normal(size=N_ROWS).astype(self.dtype).astype(float)
            column[self.rng.integers(N_ROWS)] = np.nan
            column[self.rng.integers(N_ROWS)] = column[0]
            columns.append(column)
        columns.append(np.array(self.rng.choice(WORDS, N_ROWS), dtype=object))
        dtypes = (*[np.dtype(self.dtype)] * TEXT, np.dtype(object))
        return Features(tuple(f"x{j}" for j in range(WIDTH)), tuple(columns), dtypes, "")


class Case:
    """An additive graph, its engine, and effects by brute force."""

    def __init__(self, seed: int) -> None:
        g = Grown(seed)
        tensor, width = g.front()
        targets = int(g.rng.integers(1, 4))
        total = g.mixed(tensor, width, targets)
        if g.chance(0.5):
            total = g.with_pairs(tensor, width, targets, total)
        g.end(total, targets)
        self.model, features = g.load(), g.features()
        additive = self.model.additive
        if isinstance(additive, Refusal) and "independently" in additive.reason:
            reject()  # steep functions round otherwise in other calls
        assert isinstance(additive, AdditiveModel), additive
        self.additive: AdditiveModel = additive
        self.rng = g.rng
        if np.abs(additive.front(feeds(features, features.cast_columns()))).max() > 1e4:
            reject()  # float32 no longer tells what is added to such numbers
        weights = g.rng.integers(1, 4, N_ROWS).astype(float)
        self.background = merge(features, weights, np.arange(N_ROWS))
        names = self.model.output_names
        self.every = range(WIDTH)
        self.pairs = additive.values_by_pair
        tables = PairTables(additive, features)
        setup = AdditiveSetup(tables, names, frozenset(), Ledger(Host()), N_ROWS)
        self.engine = Additive(setup, self.background)

    def predict(self, columns):
        return self.model.predict(feeds(self.background.features, columns)).astype(float)

    def hybrid(self, features, sources):
        """Predict with features of rows in place of others, (n, ) positions by feature."""
        columns = list(self.background.columns)
        for j in features:
            columns[j] = columns[j][sources]
        return self.predict(columns)

    def average(self, features, weights):
        """Average over rows with features at each row's values: (n, n_outputs)."""
        count = len(self.background)
        columns = [
            np.repeat(own, count) if j in features else np.tile(own, count)
            for j, own in enumerate(self.background.columns)
        ]
        predicted = self.predict(columns).reshape(count, count, -1)
        return np.average(predicted, axis=1, weights=weights)

    def close(self, actual, expected) -> None:
        """Compare within the rounding of the model, and of averages over its predictions."""
        columns = self.background.columns
        values = self.additive.front(feeds(self.background.features, columns))
        sums = values @ self.additive.sums.matrix.T + self.additive.sums.offset
        rounding = max(float(self.model.roundings.max()), self.additive.sums.rounding)
        # Hybrid rows have other terms than the rows: 4 times as much as these.
        allowed = 4 * self.additive.errors(values, sums, rounding).max() + 1e-13
        allowed += 16 * rounding * np.abs(expected).max()
        np.testing.assert_allclose(actual, expected, rtol=0, atol=allowed)


@given(st.integers(0, 2**32))
@settings(max_examples=100)
def test_effects_of_additive_graphs_are_averages_of_predictions(seed: int) -> None:
    case = Case(seed)
    engine, weights = case.engine, case.background.weights
    assert refuse_not_finite(case.additive, case.background.features) is None
    assert check_terms(case.additive, case.model, case.background) is None
    case.close(engine.outputs(), case.predict(case.background.columns))
    effects = {}
    for single in engine.single(case.every):
        j = single.feature
        effects[j,] = case.average([j], weights)
        case.close(single.own, effects[j,])
        case.close(single.others, case.average([k for k in case.every if k != j], weights))
    pairs = [(int(a), int(b)) for a, b in list(combinations(case.every, 2))[seed % 6 :][:2]]
    for joint in engine.joint(pairs):
        whole = case.average(joint.features, weights)
        case.close(joint.whole, whole)
        apart = joint.pure - (whole - sum(effects[j,] for j in joint.features))
        case.close(apart - apart[0], 0 * apart)
        if case.additive.link is TermLink.IDENTITY and joint.features not in case.pairs:
            assert not joint.pure.any()
    for pair, (own, rest) in zip(pairs, engine.own_and_others(pairs), strict=True):
        case.close(own, case.average(pair, weights))
        case.close(rest, case.average([k for k in case.every if k not in pair], weights))
    others = case.rng.integers(0, 3, (2, len(weights))) + np.eye(2, len(weights))
    for single in engine.single([seed % WIDTH], others):
        for own, rest, replicate in zip(single.own, single.others, others, strict=True):
            case.close(own, case.average([single.feature], replicate))
            away = [k for k in case.every if k != single.feature]
            case.close(rest, case.average(away, replicate))


@given(st.integers(0, 2**32))
@settings(max_examples=25)
def test_curves_and_single_predictions_of_additive_graphs(seed: int) -> None:
    case = Case(seed)
    engine, columns = case.engine, case.background.columns
    count = len(case.background)
    order, features = case.rng.permutation(count), [seed % WIDTH, (seed + 1) % WIDTH]
    points = [columns[j][order[:3]] for j in features]
    cube = engine.individual(features, points)
    for place in range(3):
        expected = case.hybrid(features, np.full(count, order[place]))
        case.close(cube[:, place], expected)
        mean = np.average(expected, axis=0, weights=case.background.weights)
        case.close(engine.curve(features, points)[place], mean)
    case.close(engine.permuted(features, [order])[0], case.hybrid(features, order))
    is_own = case.rng.random((count, WIDTH)) < 0.5
    mixture = RowMixture(order, np.arange(count), is_own)
    mixed = [np.where(is_own[:, j], columns[j][order], columns[j]) for j in case.every]
    case.close(engine.mixed(case.background, mixture), case.predict(mixed))


@given(st.integers(0, 2**32), st.sampled_from(GameValue))
@settings(max_examples=40)
def test_attributions_of_sums_are_those_of_all_coalitions(seed: int, value: GameValue) -> None:
    case = Case(seed)
    if case.additive.link is not TermLink.IDENTITY:
        reject()
    players = [(0,), (1, TEXT), (2,)] if seed % 2 else [(j,) for j in case.every]
    order = case.rng.permutation(len(case.background))[:3]
    explained = unmerged(case.background.features.take(order), np.ones(3), order)
    game = Game(Perturbation.INTERVENTIONAL, value, 2)
    found = case.engine.attribute(explained, players, game)
    every = range(len(players))
    worths = {
        own: case.average([j for p in own for j in players[p]], case.background.weights)[order]
        for size in range(len(players) + 1)
        for own in combinations(every, size)
    }

    def mean(away: tuple[int, ...]) -> Any:
        """Average what players add to coalitions of others, as the value weighs their sizes."""
        others = [p for p in every if p not in away]
        total, weight = 0.0, 0.0
        for size in range(len(others) + 1):
            for own in combinations(others, size):
                share = 1 / comb(len(others), size) if value is GameValue.SHAPLEY else 1.0
                total, weight = total + share * added(own, away), weight + share
        return total / weight

    def added(own: tuple[int, ...], players: tuple[int, ...]) -> Any:
        if not players:
            return worths[tuple(sorted(own))]
        first, *rest = players
        return added((*own, first), tuple(rest)) - added(own, tuple(rest))

    for p in every:
        case.close(found.values[:, p], mean((p,)))
    for place, pair in enumerate(combinations(every, 2)):
        case.close(found.interactions[:, place], mean(pair))


def test_terms_of_two_features_that_take_many_combinations_are_refused() -> None:
    g = Grown(0)
    bins = g.add("Floor", "x0")
    g.final = g.add("Mul", bins, "x1")
    g.inputs = g.inputs[:2]
    additive = g.load().additive
    assert isinstance(additive, AdditiveModel)

    def refusal(count: int) -> Refusal | None:
        rows = np.linspace(0, 8, count).astype(g.dtype)
        features = Features(("x0", "x1"), (rows, rows), (rows.dtype,) * 2, "")
        return refuse_many_cells(PairTables(additive, features), features)

    assert refusal(20_000) is None  # 9 values of x0, of which the model makes whole numbers
    refused = refusal(40_000)
    assert refused is not None
    assert "too many combinations" in refused.reason


def slightly_mixed(g: Grown, tensor: str, width: int) -> str:
    """Return a sum of columns, and of a term of 1e-6 that takes several of them."""
    line = g.add("MatMul", tensor, g.constant(g.numbers(width, 1)))
    if g.chance(0.5):
        product = g.add("ReduceProd", tensor, axes=[1], keepdims=1)
        tiny = g.add("Mul", product, g.constant([1e-6]))
    else:
        hidden = g.add("MatMul", tensor, g.constant(1e-6 * g.numbers(width, 1)))
        tiny = g.add("Relu", hidden)
    return g.add("Add", line, tiny)


@pytest.mark.parametrize("seed", range(6))
def test_graphs_that_are_nearly_additive_are_not_taken_for_additive(seed: int) -> None:
    g = Grown(seed)
    filled = [g.filled(f"x{j}") for j in range(TEXT)]
    g.end(slightly_mixed(g, g.add("Concat", *filled, axis=1), TEXT), 1)
    assert isinstance(g.load().additive, Refusal)


ACROSS_ROWS = (
    lambda g, t: g.add(
        "Transpose", g.add("Reshape", t, g.constant([2, -1], np.int64)), perm=[1, 0]
    ),
    lambda g, t: g.add("Sub", t, g.add("ReduceMean", t, axes=[0], keepdims=1)),
    lambda g, t: g.add("CumSum", t, g.constant(0, np.int64)),
    lambda g, t: g.add("MatMul", g.add("MatMul", t, g.add("Transpose", t, perm=[1, 0])), t),
)


@pytest.mark.parametrize("form", ACROSS_ROWS)
def test_graphs_that_work_across_rows_are_not_taken_for_additive(form) -> None:
    g = Grown(0)
    tensor = g.add("Concat", "x0", "x1", axis=1)
    g.final = form(g, tensor)
    g.inputs = g.inputs[:2]
    assert isinstance(g.load().additive, Refusal)


@pytest.mark.parametrize("factor", [1 + 1e-3, 0.0])
def test_the_check_sees_a_wrong_coefficient(factor: float) -> None:
    case = next(case for case in map(Case, range(20)) if case.additive.link is TermLink.IDENTITY)
    values = case.additive.front(feeds(case.background.features, case.background.columns))
    largest = (np.abs(case.additive.sums.matrix) * np.abs(values).max(axis=0)).sum(axis=0).argmax()
    case.additive.sums.matrix[:, largest] *= factor
    refusal = check_terms(case.additive, case.model, case.background)
    assert refusal is not None
    assert "its terms add up to" in refusal.reason
