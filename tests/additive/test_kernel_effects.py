"""Kernel effects: averages of products of functions of one feature, by brute force over rows."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnxplain_server.additive import kernel_rows
from onnxplain_server.additive.kernel_effects import KernelEffects, KernelSetup
from onnxplain_server.additive.kernel_model import KernelModel
from onnxplain_server.core.interfaces import Host
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.attributing.mixed_rows import RowMixture
from onnxplain_server.effects.background import merge
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.trees.kernels.block_pool import BlockPool

N_ROWS, WIDTH = 8, 4
NAMES = tuple(f"x{j}" for j in range(WIDTH))


class KernelCase:
    """A random kernel model with rows, and its effects by the formula.

    Features give no value, one, or two; some rows and values are equal; some values are so far
    from all centers that their kernels are 0.
    """

    def __init__(self, seed: int) -> None:
        rng = self.rng = np.random.default_rng(seed)
        codes = np.repeat(np.arange(WIDTH), rng.integers(0, 3, WIDTH))
        self.codes = codes = codes if len(codes) else np.array([0])
        count, outputs = int(rng.integers(1, 40)), int(rng.integers(1, 3))
        scales = rng.gamma(0.5, 1.0, (count, len(codes))) * (rng.random((count, len(codes))) < 0.8)
        self.model = KernelModel(
            self.front,
            codes,
            rng.normal(size=(count, len(codes))),
            scales,
            rng.normal(size=(outputs, count)) * 10.0 ** rng.integers(-2, 3),
            rng.normal(size=outputs),
            0,
            0.0,
        )
        columns = [rng.normal(size=N_ROWS).round(int(rng.integers(0, 4))) for _ in NAMES]
        columns[0][rng.integers(N_ROWS)] *= 10.0 ** rng.integers(0, 7)
        features = Features(NAMES, tuple(columns), (np.dtype(np.float64),) * WIDTH, "")
        self.background = merge(
            features, rng.integers(1, 4, N_ROWS).astype(float), np.arange(N_ROWS)
        )

    def engine(self, threads: ThreadPoolExecutor) -> KernelEffects:
        pool = BlockPool(threads, Ledger(Host()))
        names = tuple(f"o{k}" for k in range(len(self.model.weights)))
        return KernelEffects(KernelSetup(self.model, names, frozenset(), pool), self.background)

    def front(self, rows):
        columns = [np.asarray(rows[name], dtype=float).reshape(-1) for name in NAMES]
        return np.stack([columns[j] * (1 + k) for k, j in enumerate(self.codes)], axis=1)

    def predict(self, columns):
        """Evaluate the formula, kernel by kernel."""
        model, values = self.model, self.front(dict(zip(NAMES, columns, strict=True)))
        total = np.tile(model.offset, (len(values), 1))
        for s in range(model.kernel_count):
            exponent = (model.scales[s] * (values - model.centers[s]) ** 2).sum(axis=1)
            total += np.exp(-exponent)[:, np.newaxis] * model.weights[:, s]
        return total

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
        size = np.abs(self.model.weights).sum() + np.abs(self.model.offset).sum()
        np.testing.assert_allclose(actual, expected, rtol=0, atol=1e-10 * size)


@pytest.fixture(scope="module")
def threads():
    with ThreadPoolExecutor(2) as executor:
        yield executor


@pytest.fixture(params=["kept", "sums kept", "computed anew"], scope="module")
def small_blocks(request):
    """Compute a few kernels at once, with and without exponents that are kept."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kernel_rows, "_BLOCK", 5 * N_ROWS)
        patch.setattr(kernel_rows, "KERNELS_AT_ONCE", 7)
        room = {"sums kept": 40 * N_ROWS, "computed anew": 0}
        if request.param in room:
            patch.setattr(kernel_rows, "_KEPT_NUMBERS", room[request.param])
        yield


@given(st.integers(0, 2**32))
@settings(max_examples=60)
def test_effects_of_kernels_are_averages_of_the_formula(threads, small_blocks, seed: int) -> None:
    case = KernelCase(seed)
    engine, weights, every = case.engine(threads), case.background.weights, range(WIDTH)
    case.close(engine.outputs(), case.predict(case.background.columns))
    taken = case.codes[case.model.scales.any(axis=0)]
    assert engine.unused == set(every) - set(taken.tolist())
    effects = {}
    for single in engine.single(every):
        j = single.feature
        effects[j,] = case.average([j], weights)
        case.close(single.own, effects[j,])
        case.close(single.others, case.average([k for k in every if k != j], weights))
    pairs = list(combinations(every, 2))
    for joint in engine.joint(pairs):
        whole = case.average(joint.features, weights)
        case.close(joint.whole, whole)
        apart = joint.pure - (whole - sum(effects[j,] for j in joint.features))
        case.close(apart - apart[0], 0 * apart)
    groups = [(0, 1, 2), (1, 3)]
    for group, (own, rest) in zip(groups, engine.own_and_others(groups), strict=True):
        case.close(own, case.average(group, weights))
        case.close(rest, case.average([k for k in every if k not in group], weights))


@given(st.integers(0, 2**32))
@settings(max_examples=30)
def test_effects_of_kernels_under_other_weights(threads, small_blocks, seed: int) -> None:
    case = KernelCase(seed)
    engine = case.engine(threads)
    count = len(case.background)
    others = case.rng.integers(0, 3, (3, count)) + np.eye(3, count)
    for single in engine.single([seed % WIDTH], others):
        for own, rest, replicate in zip(single.own, single.others, others, strict=True):
            case.close(own, case.average([single.feature], replicate))
            away = [k for k in range(WIDTH) if k != single.feature]
            case.close(rest, case.average(away, replicate))
    for whole in engine.wholes([(0, 3)], others):
        for own, replicate in zip(whole, others, strict=True):
            case.close(own, case.average((0, 3), replicate))


@given(st.integers(0, 2**32))
@settings(max_examples=30)
def test_curves_and_single_predictions_of_kernels(threads, small_blocks, seed: int) -> None:
    case = KernelCase(seed)
    engine, columns = case.engine(threads), case.background.columns
    count = len(case.background)
    order, features = case.rng.permutation(count), [seed % WIDTH, (seed + 1) % WIDTH]
    points = [columns[j][order[:3]] + 0.5 for j in features]
    cube = engine.individual(features, points)
    for place in range(3):
        moved = list(columns)
        for j, own in zip(features, points, strict=True):
            moved[j] = np.full(count, own[place])
        expected = case.predict(moved)
        case.close(cube[:, place], expected)
        mean = np.average(expected, axis=0, weights=case.background.weights)
        case.close(engine.curve(features, points)[place], mean)
    shuffled = [own[order] if j in features else own for j, own in enumerate(columns)]
    case.close(engine.permuted(features, [order])[0], case.predict(shuffled))
    is_own = case.rng.random((count, WIDTH)) < 0.5
    mixed = [np.where(is_own[:, j], columns[j][order], columns[j]) for j in range(WIDTH)]
    mixture = RowMixture(order, np.arange(count), is_own)
    case.close(engine.mixed(case.background, mixture), case.predict(mixed))


def test_the_rounding_error_bounds_effects_of_large_exponents(threads) -> None:
    """A feature 7,000 units away from all centers is left out: what remains is no difference."""
    case = KernelCase(3)
    model = case.model
    model.scales[:] = 1.0
    case.background.columns[0][:] += 7e3
    engine = case.engine(threads)
    weights = case.background.weights
    (single,) = engine.single([int(case.codes[0])])
    away = [k for k in range(WIDTH) if k != single.feature]
    error = np.abs(single.others - case.average(away, weights)).max()
    assert error <= engine.rounding_error().max() + 1e-13 * np.abs(model.weights).sum()
