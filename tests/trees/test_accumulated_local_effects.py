"""Accumulated local effects of trees, without and with a link, by leaves: against brute force."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.background import unmerged
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.methods import accumulated_local_effects as method
from onnxplain_server.methods.resampling.units import RowUnits
from onnxplain_server.trees.exact import Exact
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.linked import JointRows, Linked
from onnxplain_server.trees.reading.ensemble import Ensemble, read_ensemble
from onnxplain_server.trees.reading.links import LinkedEnsemble, LinkFunction

MODES = ("LEQ", "LT", "GTE", "GT", "EQ", "NEQ")


def grown(random: np.random.Generator, depth: int):
    """A random tree of three columns and two targets, whose thresholds are values of rows."""
    if depth == 0:
        return random.normal(size=2).tolist()
    threshold = float(random.integers(-6, 7)) / 2
    mode = str(random.choice(MODES))
    test = (int(random.integers(3)), mode, threshold, bool(random.random() < 0.3))
    return (test, grown(random, depth - 1), grown(random, depth - 1))


class Counted:
    """A host that counts what is done."""

    done = planned = 0.0

    def advance(self, done: float, planned: float) -> None:
        self.done, self.planned = done, planned


def engine_of(link: LinkFunction | None, ensemble: Ensemble, rows, host, threads):
    ledger, names, outputs = Ledger(host), ("y0", "y1"), np.arange(2)
    if link is None:
        return Exact(ensemble, Leaves(ensemble), rows, names, outputs, ledger, threads)
    linked = LinkedEnsemble(ensemble, link, None)
    return Linked(linked, rows, names, outputs, ledger, threads, JointRows(500, 500))


def by_definition(predict, rows, weights, grid, feature: int, by_value: bool):
    x, level = rows[:, feature], [np.zeros(2)]
    for low, high in pairwise(grid):
        inside = (x == low) | (x == high) if by_value else (x > low) & (x <= high)
        inside |= (low == grid[0]) & (x == low)
        ends = []
        for end in (low, high):
            moved = rows[inside].copy()
            moved[:, feature] = end
            ends.append(predict(moved))
        level.append(level[-1] + np.average(ends[1] - ends[0], axis=0, weights=weights[inside]))
    known = ~np.isnan(x)
    at_rows = [np.interp(x[known], grid, column) for column in np.array(level).T]
    return np.array(level) - np.average(at_rows, axis=1, weights=weights[known])


@pytest.mark.parametrize("link", [None, *LinkFunction])
def test_effects_are_those_of_the_definition(regressor, brute, threads, link) -> None:
    """Of weighted rows, some with missing values; a tree is a sum that no model predicts."""
    random = np.random.default_rng(5)
    trees = [grown(random, 3) for _ in range(4)]
    rows = random.normal(size=(60, 3)).round(1).astype(np.float32).astype(float)
    rows[:, 2] = random.integers(-2, 3, 60)
    rows[random.random((60, 3)) < 0.1] = np.nan
    weights = random.integers(1, 4, 60).astype(float)
    ensemble = read_ensemble(regressor(trees, 3))
    assert isinstance(ensemble, Ensemble)
    types = tuple(axis.dtype for axis in ensemble.axes)
    features = Features(("a", "b", "c"), tuple(rows.T), types, "X")
    background = unmerged(features, weights, np.arange(60))
    host = Counted()
    engine = engine_of(link, ensemble, background, host, threads)

    options = method.resolve(method.Options(bin_count=6), ("a", "b", "c"), "")
    entries = list(method.moves(options, [("", background, RowUnits(np.arange(60)))]))
    result = method.compute(engine, options, entries, 0)

    add_up = brute(trees, rows).predict

    def predict(given):
        scores = add_up(given)
        match link:
            case None:
                return scores
            case LinkFunction.LOGISTIC:
                return 1 / (1 + np.exp(-scores))
            case LinkFunction.EXPONENTIAL:
                return np.exp(scores)
            case LinkFunction.SOFTMAX:
                return np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)

    for feature, curve in enumerate(result.curves):
        grid = curve.grid[0].tolist()
        expected = by_definition(predict, rows, weights, grid, feature, feature == 2)
        assert curve.values == pytest.approx(expected, rel=1e-10, abs=1e-12)
        assert curve.missing_weight == weights[np.isnan(rows[:, feature])].sum() > 0
        assert len(grid) == (5 if feature == 2 else 7)
    assert host.done == 60 + sum(moves.cost() for entry in entries for moves in entry)
