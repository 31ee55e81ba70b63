"""Result of the swarm: effects by class and feature, importances, and similarity of classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.effects.quantiles import even_histogram
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.swarm.options import Motion, Resolution, Score, Search
from onnxplain_server.methods.swarm.reach import Reach
from onnxplain_server.methods.swarm.searching import SearchResult


@dataclass(frozen=True, slots=True, eq=False)
class Histogram:
    """Histogram: borders (n + 1,), and row weights (n,), possibly infinite."""

    borders: Vector
    counts: Vector


@dataclass(frozen=True, slots=True, eq=False)
class Effect:
    """Effect of moving one feature in the rows of one class; see `SwarmEffect` in the contract.

    Attributes
    ----------
    row_index : int or None
        Row explained by itself; None for a class or all rows.
    row_count : int
        Number of moved rows.
    window_scores, window_shares : (n_windows,), (n_windows, n_classes)
    similarities : (n_classes,)
    reach : Reach
        Reach of the best weight.
    inside : (float, float)
        First and last weight that move no row out of the observed range.
    """

    class_name: str
    feature: str
    row_index: int | None
    row_count: int
    importance: float
    search_result: SearchResult
    window_scores: Vector
    window_shares: Matrix
    similarities: Vector
    values: Histogram
    reach: Reach
    inside: tuple[float, float]


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Result of the swarm; see `SwarmResult` in the contract.

    Attributes
    ----------
    class_names : tuple of str
        Names of all outputs; empty without classes.
    effects : tuple of Effect
        Grouped by class, then in order of `features`.
    importances, relative_importances : (n_features,)
    similarity : (n_classes, n_classes)
        Empty without classes, or if single rows are explained.
    borders : (n_windows + 1,)
    score, loss
        Exactly one of them is None.
    """

    class_names: tuple[str, ...]
    features: tuple[str, ...]
    effects: tuple[Effect, ...]
    baseline_score: float
    importances: Vector
    relative_importances: Vector
    similarity: Matrix
    borders: Vector
    search: Search
    score: Score | None
    loss: Loss | str | None
    motion: Motion
    resolution: Resolution
    notes: tuple[Note, ...] = ()

    @property
    def cohorts(self) -> list[tuple[Effect, ...]]:
        """Effects grouped by cohort: one class, or one row."""
        m = len(self.features)
        return [self.effects[i : i + m] for i in range(0, len(self.effects), m)]


def histogram(values: Vector, weights: Vector, unit: float) -> Histogram:
    """Count finite values in up to 20 bins, by weights in multiples of `unit`."""
    finite = np.isfinite(values)
    values, weights = values[finite], weights[finite]
    if not len(values):
        return Histogram(np.zeros(0), np.zeros(0))
    count = min(20, max(1, int(np.ceil(np.sqrt(len(values))))))
    counts, borders = even_histogram(values, count, weights)
    with np.errstate(over="ignore"):
        return Histogram(borders, counts * unit)
