"""Coverage of the intervals of the engine SURROGATE, and its false alarms, by repetitions.

`python -m bench.accuracy.surrogate_coverage [REPETITIONS]` prints a line for each of four models
and each kind of surrogate: its own; one that is constant; one that is trained on the predictions
of other rows. Each repetition has a seed of its own; the rows are the same, and the truth is that
of all hybrids. An alarm is an interval of a pair that does not interact, and does not hold 0.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np
from onnxplain_server.adapters.programs.warm_up import NullHost
from onnxplain_server.core.arrays import Indices, Matrix, Vector
from onnxplain_server.core.interfaces import Host
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.methods.interactions import Options, Statistic
from onnxplain_server.methods.interactions.strength import clip
from onnxplain_server.methods.interactions.surrogate_measurement import (
    ModelRows,
    SurrogateMeasurement,
)
from onnxplain_server.methods.interactions.surrogate_statistics import (
    AskedEstimate,
    compute_by_surrogate,
)
from onnxplain_server.methods.resampling import Resampling
from onnxplain_server.methods.surrogates.boosted_trees import BoostedTrees, fit_trees

from bench.accuracy.surrogates import PROBLEMS, Group, Hybrids, Problem, background, trained

_LEVEL, _PREDICTIONS = 0.9, 3_000
_MODELS = (
    "network, one strong",
    "neighbours pipeline, jumps",
    "Gaussian process, smooth",
    "splines, no interaction",
)
_NONE = 1e-9
"""Ratio below which features do not interact."""


def _constant(rows: Matrix, target: Vector, seed: int) -> BoostedTrees:
    return fit_trees(rows, np.full_like(target, target.mean()), seed, 1)


def _of_other_rows(rows: Matrix, target: Vector, seed: int) -> BoostedTrees:
    return fit_trees(rows, np.random.default_rng(seed).permutation(target), seed)


SURROGATES = {"its own": fit_trees, "constant": _constant, "of other rows": _of_other_rows}


class Truth(NamedTuple):
    """Model, its rows and their statistics."""

    predict: Callable[[Matrix], Vector]
    x: Matrix
    outputs: Vector
    ratios: dict[Group, float]

    @classmethod
    def of(cls, problem: Problem) -> Truth:
        """Predict all hybrids."""
        predict, x = trained(problem)
        hybrids = Hybrids.of(predict, x)
        ratios = hybrids.numerators(np.arange(len(x)))
        for group in ratios:
            joint = hybrids.groups[group].mean(axis=1) if len(group) > 1 else hybrids.rows
            ratios[group] /= float(np.var(joint))
        return cls(predict, x, hybrids.rows, ratios)

    def statistics(self, seed: int, fit: Callable[..., BoostedTrees]) -> Sequence[Statistic]:
        """Estimate them once."""

        def mixed(sources: Indices) -> Matrix:
            return self.predict(self.x[sources, np.arange(self.x.shape[1])])[:, None]

        rows = background(self.x)
        outputs = self.outputs[:, None]
        options = Options(resampling=Resampling(confidence_level=_LEVEL))
        zeros = clip(outputs, rows.weights, np.zeros(1), None)
        with ThreadPoolExecutor(1) as threads:
            features, ledger = range(self.x.shape[1]), Ledger(Host.of(NullHost()))
            parts = ModelRows(rows, outputs, mixed), features, _PREDICTIONS, seed, threads, ledger
            measure = SurrogateMeasurement(*parts, fit)
            asked = AskedEstimate(rows.features.names, ("y",), options, zeros)
            found = compute_by_surrogate(measure, asked)
        return (*found.overall, *found.pairwise)


def _interval(statistic: Statistic) -> tuple[Vector, Vector]:
    if statistic.spread is None:
        raise RuntimeError("estimates have intervals")
    return statistic.spread.lower, statistic.spread.upper


def line(name: str, kind: str, repetitions: int) -> str:
    """Repeat the estimate of a model, and count."""
    truth = Truth.of(next(problem for problem in PROBLEMS if problem.name == name))
    held, alarms = [], []
    for seed in range(repetitions):
        for statistic in truth.statistics(seed, SURROGATES[kind]):
            true = truth.ratios[tuple(int(feature[1:]) for feature in statistic.features)]
            low, high = (float(end[0]) for end in _interval(statistic))
            held.append(low - _NONE <= true <= high + _NONE)
            if true < _NONE:
                alarms.append(low > _NONE)
    alarm = f"{np.mean(alarms):.1%}" if alarms else "-"
    return f"| {name} | {kind} | {np.mean(held):.1%} | {alarm} |"


def main() -> None:
    """Print a line for each model and kind of surrogate."""
    warnings.simplefilter("ignore")
    repetitions = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    print("| Model | Surrogate | 90 % intervals hold | false alarms |", flush=True)
    for name in _MODELS:
        for kind in SURROGATES:
            print(line(name, kind, repetitions), flush=True)


if __name__ == "__main__":
    main()
