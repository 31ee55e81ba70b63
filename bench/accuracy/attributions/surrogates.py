"""Estimated Shapley values with a surrogate of boosted trees, pooled over rows, beside without.

Usage: python -m bench.accuracy.attributions.surrogates

Half of the predictions train the surrogate, whose own values are exact; orders of the other half
estimate those of the model less the surrogate. Both halves change places, and the results are
averaged, so that each prediction serves twice. The number of predictions is that of the default.
"""

from __future__ import annotations

import time
from dataclasses import replace
from functools import partial

import numpy as np
from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.core.contract_limits import AttributionsOptions
from onnxplain_server.methods.attributions.permutations import (
    attribute_by_permutations,
    permutation_cost,
)
from sklearn.ensemble import HistGradientBoostingRegressor

from bench.accuracy.attributions.problems import Predict, Problem, problems, truth_of

BACKGROUND, SEEDS = 100, 8
ORDERS = AttributionsOptions.permutation_count.default


def hybrids(problem: Problem, count: int, random: np.random.Generator) -> Matrix:
    """Draw hybrid rows as random orders make them: each size of a coalition is as likely."""
    shape = (count, problem.feature_count)
    explained = problem.explained[random.integers(len(problem.explained), size=count)]
    background = problem.background[random.integers(len(problem.background), size=count)]
    share = random.integers(1, shape[1], size=(count, 1)) / shape[1]
    return np.where(random.random(shape) < share, explained, background)


def surrogate(problem: Problem, count: int, seed: int) -> Predict:
    """Train a surrogate on predictions of hybrid rows of all rows explained."""
    rows = hybrids(problem, count, np.random.default_rng(seed))
    trees = HistGradientBoostingRegressor(max_iter=200, random_state=seed)
    predict: Predict = trees.fit(rows, problem.predict(rows)).predict
    return predict


def corrected(problem: Problem, seed: int) -> Matrix:
    """Estimate with surrogates: (n_rows, n_features)."""
    count = len(problem.explained) * permutation_cost(problem.feature_count, ORDERS) // 2
    values = np.zeros(problem.explained.shape)
    for half in (2 * seed, 2 * seed + 1):
        own = surrogate(problem, count, 1_000 + half)
        rest = replace(problem, predict=partial(_difference, problem.predict, own))
        residuals = attribute_by_permutations(rest.rows()[0], ORDERS // 2, half).values[..., 0]
        values += (truth_of(replace(problem, predict=own)) + residuals) / 2
    return values


def _difference(predict: Predict, own: Predict, rows: Matrix) -> Vector:
    return predict(rows) - own(rows)


def main() -> None:
    """Print the errors of both, in % of the values."""
    for whole in problems():
        problem = whole.on_background(BACKGROUND)
        truth = truth_of(problem)
        runs = [attribute_by_permutations(problem.rows()[0], ORDERS, k) for k in range(SEEDS)]
        plain = np.stack([run.values[..., 0] for run in runs]) - truth
        start = time.monotonic()
        with_trees = np.stack([corrected(problem, k) for k in range(SEEDS)]) - truth
        seconds = (time.monotonic() - start) / SEEDS
        size = np.sqrt(np.mean(truth**2))
        errors = [100 * np.sqrt(np.mean(each**2)) / size for each in (plain, with_trees)]
        ratio = errors[0] / errors[1]
        print(f"{problem.name}: {errors[0]:.2f} %, {errors[1]:.2f} %, {ratio:.2f}; {seconds:.1f} s")


if __name__ == "__main__":
    main()
