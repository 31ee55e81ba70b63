"""Generated networks behind columns: effects by parts of the first layers, and of whole rows.

Networks have one-hots, imputed values, curves of single columns and look-ups in front of dense
layers, also beside each other, in both float types, with missing, infinite and unknown values.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, reject, settings
from hypothesis import strategies as st
from onnxplain_server.adapters.onnx.layers import read
from onnxplain_server.core.interfaces import Host
from onnxplain_server.core.rows import feeds
from onnxplain_server.effects.attributing.mixed_rows import RowMixture
from onnxplain_server.effects.background import merge
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.black_box import BlackBox
from onnxplain_server.effects.layers.check import why_not_finite, why_they_differ
from onnxplain_server.effects.layers.model import FirstLayers, LayerSums
from onnxplain_server.effects.layers.rows import KnownRows, LayeredRows
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.predictor import Predictor
from onnxplain_server.trees.reading.refusal import Refusal

from tests.additive.test_generated_graphs import N_ROWS, TEXT, WIDTH, Grown

GRAPH_COUNT = int(os.environ.get("TEST_GRAPH_COUNT", "100"))
"""Networks whose effects are compared: thousands for a campaign."""
FLATTER = ("Relu", "Tanh", "Sigmoid", "Abs")
"""Functions that make differences no larger."""
UNFIT = (
    "its rows are not computed independently of each other",  # steep functions
    "nothing follows its first layers",  # all columns that count are one feature's
)


@pytest.fixture(scope="module", autouse=True)
def small_networks() -> Iterator[None]:
    """Take first layers of networks that are too small to gain by it."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(read, "pays", lambda *_: True)
        yield


@pytest.fixture(scope="module")
def threads() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2) as pool:
        yield pool


class Network(Grown):
    """A graph whose dense layers are kept, to bound the errors of what follows the first one."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        self.layers: list[tuple[Any, Any]] = []
        columns, width = self.front()
        if self.chance(0.3):
            means = (self.constant(self.numbers(width)) for _ in range(3))
            variance = self.constant(self.numbers(width) ** 2 + 0.1)
            columns = self.add("BatchNormalization", columns, *means, variance)
        is_wide = self.chance(0.3)
        tensor, size = self.dense(columns, width)
        for _ in range(self.rng.integers(0, 3)):
            tensor = self.add(str(self.rng.choice(FLATTER)), tensor)
            if is_wide:  # single columns beside what is made of all of them
                tensor = self.add("Concat", tensor, columns, axis=1)
                size += width
                is_wide = False
                self.layers.clear()  # of which the bound is left out
            tensor, size = self.dense(tensor, size)
        self.final = self.add(str(self.rng.choice(["Sigmoid", "Softmax", "Tanh"])), tensor)

    def end_in_steps(self) -> None:
        """Round the outputs to eighths."""
        scaled = self.add("Mul", self.final, self.constant([8.0]))
        self.final = self.add("Floor", scaled)

    def dense(self, tensor: str, width: int) -> tuple[str, int]:
        size = int(self.rng.integers(1, 6))
        weights, bias = self.numbers(width, size) / np.sqrt(width), self.numbers(size)
        self.layers.append((weights, bias))
        if self.chance(0.5):
            return self.add("Gemm", tensor, self.constant(weights), self.constant(bias)), size
        product = self.add("MatMul", tensor, self.constant(weights))
        return self.add("Add", product, self.constant(bias)), size

    def features(self):
        own = super().features()
        columns = list(own.columns)
        if self.chance(0.2):
            columns[0] = np.where(np.arange(N_ROWS) == 3, np.inf, columns[0])
        return replace(own, columns=tuple(columns))

    def amplified(self, errors, rounding: float) -> float:
        """Bound what errors of the first sums, and roundings behind them, do to the outputs.

        With errors e of its input, whose size is at most a, a layer W x + b gives errors |W| e and
        roundings of n u / (1 - n u) (|W| a + |b|), in each of two evaluations. Functions between
        layers are bounded by 1 or by their input, with a slope of at most 1; the last one too.
        """
        size = np.full(errors.shape, 0.0)
        size[:] = self.largest
        for weights, bias in self.layers[1:]:
            count = (len(weights) + 20) * rounding
            size = np.abs(weights).T @ (size + 1) + np.abs(bias)
            errors = np.abs(weights).T @ errors + 2 * count / (1 - count) * size
        return float(np.max(errors)) + 64 * rounding

    largest = 0.0


class Case:
    """A network, its engine by parts and its engine by whole rows."""

    def __init__(self, seed: int, threads: ThreadPoolExecutor, *, is_stepped: bool = False) -> None:
        self.network = Network(seed)
        if is_stepped:
            self.network.end_in_steps()
        self.model, self.features = self.network.load(), self.network.features()
        first = self.model.first_layers
        if isinstance(first, Refusal) and first.reason in UNFIT:
            reject()
        assert isinstance(first, FirstLayers), first
        self.first: FirstLayers = first
        self.rng = self.network.rng
        weights = self.rng.integers(1, 4, N_ROWS).astype(float)
        self.background = merge(self.features, weights, np.arange(N_ROWS))
        outputs = np.arange(len(self.model.output_names))
        plain = Predictor(self.model, outputs, Ledger(Host()), BatchSize(), threads)
        self.by_rows = BlackBox(plain, self.background, "")
        self.by_parts = BlackBox(plain.by_parts(KnownRows(first)), self.background, "parts")

    @property
    def rounding(self) -> float:
        return float(self.model.roundings.max())

    def is_steep(self) -> bool:
        """Return whether the runtime's columns themselves differ with their place in a call."""
        columns, count = self.background.columns, len(self.background)
        values = self.first.front(feeds(self.background.features, columns))
        orders = [np.roll(np.arange(count), k)[::step] for k in range(count) for step in (1, -1)]
        orders += [own[:size] for own in orders for size in range(1, count)]
        return any(
            (np.abs(there - here[order]) > self.rounding * np.abs(here[order])).any()
            for order in orders
            for there, here in zip(
                self.first.front(feeds(self.background.features, [own[order] for own in columns])),
                values,
                strict=True,
            )
        )

    def allowed(self) -> float:
        """Bound the difference of two predictions of a hybrid row, and of averages of such."""
        columns = self.background.columns
        values = self.first.front(feeds(self.background.features, columns))
        bounds = self.first.errors(values, self.rounding)
        sums = self.first.sums(values)
        places = [n for n, t in enumerate(self.first.tensors) if isinstance(t.source, LayerSums)]
        if len(places) != 1 or len(self.first.tensors) != 1:
            return 4_096 * self.rounding  # of outputs up to 1, of layers that are not bounded
        # Hybrid rows have other terms than the rows: 4 times as much as these.
        self.network.largest = 4 * float(np.abs(sums[places[0]]).max())
        return self.network.amplified(4 * bounds[places[0]].max(axis=0), self.rounding)

    def close(self, actual, expected) -> None:
        np.testing.assert_allclose(actual, expected, rtol=0, atol=self.allowed() + 1e-13)


@given(st.integers(0, 2**32))
@settings(max_examples=GRAPH_COUNT)
def test_effects_by_parts_are_those_of_whole_rows(threads, seed: int) -> None:
    case = Case(seed, threads)
    if fault := why_not_finite(case.first, case.background.features):
        assert "'x0' in its first layer is not finite" in fault
        return
    if fault := why_they_differ(case.first, case.model, case.background):
        assert case.is_steep(), (seed, fault)
        return
    engines = case.by_parts, case.by_rows
    for ours, theirs in zip(*(e.single(range(WIDTH)) for e in engines), strict=True):
        case.close(ours.own, theirs.own)
        case.close(ours.others, theirs.others)
    pairs = [(0, TEXT), (1, 2)]
    for ours, theirs in zip(*(e.joint(pairs) for e in engines), strict=True):
        case.close(ours.whole, theirs.whole)
    columns, count = case.background.columns, len(case.background)
    order, moved = case.rng.permutation(count), [seed % WIDTH, (seed + 1) % WIDTH]
    points = [columns[j][order[:3]] for j in moved]
    case.close(*(e.individual(moved, points) for e in engines))
    case.close(*(e.curve(moved, points) for e in engines))
    case.close(*(e.permuted(moved, [order])[0] for e in engines))
    mixture = RowMixture(order, np.arange(count), case.rng.random((count, WIDTH)) < 0.5)
    case.close(*(e.mixed(case.background, mixture) for e in engines))


@given(st.integers(0, 2**32))
@settings(max_examples=50)
def test_sums_of_parts_are_within_the_rounding_of_the_runtimes(threads, seed: int) -> None:
    case = Case(seed, threads)
    if why_not_finite(case.first, case.background.features):
        reject()
    rows, columns = LayeredRows(case.first, case.background), list(case.background.columns)
    order = case.rng.permutation(len(case.background))
    for j in range(WIDTH):
        hybrid = [own[order] if k == j else own for k, own in enumerate(columns)]
        whole = feeds(case.background.features, hybrid)
        bounds = case.first.errors(case.first.front(whole), case.rounding)
        parts = rows.own_parts([j], order)
        pairs = zip(rows.without([j]), parts, case.first.inner(whole), bounds, strict=True)
        for kept, move, expected, bound in pairs:
            made = kept.copy()
            if move is not None:
                places, values = move
                if places is None:
                    made += values
                else:
                    made[:, places] = values
            assert made.dtype == expected.dtype
            assert (np.abs(made - expected) <= bound).all()


@given(st.integers(0, 2**32))
@settings(max_examples=25)
def test_before_steps_no_sums_are_taken(threads, seed: int) -> None:
    """A sum that is rounded otherwise might fall on the other side of a step."""
    case = Case(seed, threads, is_stepped=True)
    if np.isinf(case.background.columns[0]).any():
        reject()  # whose predictions may be none
    assert not case.first.has_sums
    engines = case.by_parts, case.by_rows
    for ours, theirs in zip(*(e.single(range(WIDTH)) for e in engines), strict=True):
        case.close(ours.own, theirs.own)
        case.close(ours.others, theirs.others)
