"""Synonyms, Figure 2 of the paper: pairs of interchangeable features that are independent.

    python -m bench.accuracy.synonyms [SEEDS] [CASE]

CASE is the start of a name in CASES; all without one. Prints, for each seed, the angles within
pairs and the smallest across them, by feature vectors and by two baselines. Figures are in
docs/studies/feature-vectors.md.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.methods.feature_vectors import (
    Growth,
    Options,
    Result,
    TrainingData,
    from_training_data,
)
from onnxplain_server.methods.feature_vectors.geometry import between
from onnxplain_server.methods.feature_vectors.options import PathSource

PAIRS = ((0, 1), (2, 3), (4, 5))
FEATURES = tuple(f"x{j + 1}" for j in range(20))
_JOINED = ((0, 1, 1.0), (1, 2, 0.5), (0, 2, 0.5))
"""Which pairs stand in one expression, and its weight."""
_BOTH_ABOVE, _BOTH_BELOW = 0.38, 0.32


class Table(NamedTuple):
    """Rows: values (n_rows, n_features), and the class of each, 0 or 1."""

    values: Matrix
    target: Vector


def weak_effects(seed: int, row_count: int = 20_000) -> Table:
    """Draw rows by expressions of which the features alone tell next to nothing.

    Twenty independent normal columns. For each feature x of one pair and z of another there are
    the expressions (x > 0 and z > 0) and (x < 0 and z < 0). Each that is true raises the chance of
    class 1, by 0.38 and 0.32 times a weight: 1 between the first two pairs, 1/2 otherwise. From
    their sum 0.9 is taken off, so that both classes are as frequent; chances end at 0 and 1.
    """
    random = np.random.default_rng(seed)
    values = random.normal(size=(row_count, len(FEATURES)))
    above = values > 0
    told = np.full(row_count, -0.9)
    for first, second, weight in _JOINED:
        for i in PAIRS[first]:
            for j in PAIRS[second]:
                told += weight * _BOTH_ABOVE * (above[:, i] & above[:, j])
                told += weight * _BOTH_BELOW * ~(above[:, i] | above[:, j])
    return Table(values, (random.random(row_count) < told).astype(np.float64))


def conjunctions(seed: int, row_count: int = 20_000) -> Table:
    """Draw rows by (x > 0.5 and z > 0.5) for each two features of different pairs.

    Each that is true lets class 1 fail to come with one share less: all of it between the first
    two pairs, a half otherwise. Features alone tell much.
    """
    random = np.random.default_rng(seed)
    values = random.normal(size=(row_count, len(FEATURES)))
    above = values > 0.5
    missed = np.full(row_count, 0.98)
    for first, second, weight in _JOINED:
        for i in PAIRS[first]:
            for j in PAIRS[second]:
                missed *= 1 - weight * (above[:, i] & above[:, j])
    return Table(values, (random.random(row_count) > missed).astype(np.float64))


def literal(seed: int, row_count: int = 20_000) -> Table:
    """Draw rows by the paper's example: (x > 2 and z < -3) or x > 0, for each x and z as above.

    Each that is true raises the chance of class 1 by 1/24, as there are 24.
    """
    random = np.random.default_rng(seed)
    values = random.normal(size=(row_count, len(FEATURES)))
    chance = np.zeros(row_count)
    for first, second, _ in _JOINED:
        for one, other in ((first, second), (second, first)):
            for i in PAIRS[one]:
                for j in PAIRS[other]:
                    x, z = values[:, i], values[:, j]
                    chance += (((x > 2) & (z < -3)) | (x > 0)) / 24
    return Table(values, (random.random(row_count) < chance).astype(np.float64))


class Found(NamedTuple):
    """Angles in degrees: within each pair, and the smallest across them."""

    within: list[float]
    across: float

    @property
    def holds(self) -> bool:
        """True if each pair is nearer than any features of different pairs."""
        return max(self.within) < self.across


def found(vectors: Matrix) -> Found:
    """Take the angles between the six features that matter."""
    apart = between(vectors)
    across = [apart[i, j] for i in range(6) for j in range(i) if i // 2 != j // 2]
    return Found([float(apart[pair]) for pair in PAIRS], float(min(across)))


def feature_vectors(
    table: Table, sentence_count: int, depth: int | None, seed: int, run: Any
) -> Result:
    """Grow a forest on the table, and read it."""
    options = Options(PathSource.LABELS, FEATURES, growth=Growth(sentence_count, depth))
    lesson = TrainingData(
        tuple(table.values.T), None, table.target[:, None], False, np.ones(len(table.target))
    )
    return from_training_data(options, lesson, seed, run)


def by_covariance(table: Table) -> Matrix:
    """Embed features by their covariances, as the paper's baseline does."""
    return _leading(np.cov(table.values, rowvar=False))


def by_point_biserial(table: Table) -> Matrix:
    """Embed features by correlations of each with whether another is above its median."""
    halves = table.values > np.median(table.values, axis=0)
    size = len(FEATURES)
    both = np.corrcoef(table.values, halves, rowvar=False)[:size, size:]
    return _leading(both)


def _leading(matrix: Matrix) -> Matrix:
    u, s, _ = np.linalg.svd(matrix)
    return np.asarray(u[:, :2] * s[:2])


CASES: dict[str, tuple[Callable[[int], Table], int, int | None]] = {
    "weak effects, depth 2": (weak_effects, 6_400, 2),
    "weak effects, depth 3": (weak_effects, 6_400, 3),
    "weak effects, depth by cross-validation": (weak_effects, 20_000, None),
    "conjunctions, depth 3": (conjunctions, 6_400, 3),
    "the paper's example, depth 3": (literal, 6_400, 3),
}


def main() -> None:
    seeds = range(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
    wanted = sys.argv[2] if len(sys.argv) > 2 else ""
    with ThreadPoolExecutor(os.cpu_count()) as pool:

        def run(function: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
            return list(pool.map(function, parts))

        for name, (draw, sentence_count, depth) in CASES.items():
            if not name.startswith(wanted):
                continue
            print(name, flush=True)
            for seed in seeds:
                table = draw(seed)
                result = feature_vectors(table, sentence_count, depth, seed, run)
                _tell(seed, table, result)


def _tell(seed: int, table: Table, result: Result) -> None:
    ours, gap = found(result.embedding.vectors), result.embedding.gap
    within = ", ".join(f"{angle:.1f}" for angle in ours.within)
    others = [found(by(table)).holds for by in (by_covariance, by_point_biserial)]
    print(
        f"  seed {seed}: within {within}, across {ours.across:.1f} degrees, gap {gap:.2f}: "
        f"{'holds' if ours.holds else 'fails'}; by covariance, point-biserial: {others}",
        flush=True,
    )


if __name__ == "__main__":
    main()
