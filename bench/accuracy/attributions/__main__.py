"""Accuracy of estimated Shapley values beside shap and shapiq, and coverage of their intervals.

Usage: python -m bench.accuracy.attributions [--write]

The models are no sums of trees; the truth comes from all coalitions. An error is the root mean
square over rows, features and seeds. Errors are compared at the predictions that each took, by
error times their root, as all fall with it, on the smaller background: on the larger one, others
have too few coalitions. shapiq counts where it is installed: the best of some estimators for each
model. `--write` puts the table into docs/methods/attributions.md.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import shap
from onnxplain_server.core.arrays import Array, Cube, Matrix, Vector
from onnxplain_server.core.contract_limits import AttributionsOptions
from onnxplain_server.methods.attributions.permutations import (
    attribute_by_permutations,
    permutation_cost,
)

from bench.accuracy.attributions.problems import Problem, problems, truth_of

PAGE = Path(__file__).parents[3] / "docs" / "methods" / "attributions.md"
_BEGIN, _END = "<!-- accuracy -->", "<!-- end of accuracy -->"
_BACKGROUNDS = (100, 400)
"""Rows: fewer than the orders, and more."""
_ORDERS = AttributionsOptions.permutation_count.default
_SEEDS, _PEER_SEEDS = 40, 4
_LEVEL = 1.645
"""Standard errors on either side of a 90 % interval."""
_SHAPIQ = (
    "KernelSHAP",
    "kADDSHAP",
    "OwenSamplingSV",
    "PermutationSamplingSV",
    "StratifiedSamplingSV",
    "SVARM",
    "UnbiasedKernelSHAP",
)


class Estimate(NamedTuple):
    """Values of one run, (n_rows, n_features), and its predictions for each row."""

    values: Matrix
    row_count: float


Estimator = Callable[[Problem, int, int], Estimate]
"""Of a problem, a number of predictions for each row, and a seed."""


class Counted:
    """The model of a problem as a function that counts its rows."""

    def __init__(self, problem: Problem) -> None:
        self._predict = problem.predict
        self.row_count = 0

    def __call__(self, rows: Array) -> Vector:
        self.row_count += len(rows)
        return self._predict(np.asarray(rows, dtype=np.float32))


def permutation_explainer(problem: Problem, predictions: int, seed: int) -> Estimate:
    """Estimate by PermutationExplainer of shap."""
    function, (count, width) = Counted(problem), problem.background.shape
    masker = shap.maskers.Independent(problem.background, max_samples=count)
    explainer = shap.PermutationExplainer(function, masker, seed=seed)
    # A permutation and its reverse take 2 d + 1 coalitions, the least that it allows.
    evaluations = max(predictions // count, 2 * width + 1)
    values = explainer(problem.explained, max_evals=evaluations, silent=True).values
    return Estimate(values, function.row_count / len(problem.explained))


def kernel_explainer(problem: Problem, predictions: int, seed: int) -> Estimate:
    """Estimate by KernelExplainer of shap."""
    function, count = Counted(problem), len(problem.background)
    np.random.seed(seed)  # noqa: NPY002 - the only seed that it takes
    explainer = shap.KernelExplainer(function, problem.background)
    most = max(predictions // count, problem.feature_count + 2)
    before = function.row_count
    values = explainer.shap_values(problem.explained, nsamples=most, l1_reg=False, silent=True)
    return Estimate(values, (function.row_count - before) / len(problem.explained))


def shapiq_estimator(name: str) -> Estimator:
    """Return an estimator of shapiq on the game of each row."""
    make = getattr(importlib.import_module("shapiq.approximator"), name)

    def estimate(problem: Problem, predictions: int, seed: int) -> Estimate:
        function, (count, width) = Counted(problem), problem.background.shape
        values = np.empty(problem.explained.shape)
        for i, row in enumerate(problem.explained):

            def worth(coalitions: Array, row: Vector = row) -> Vector:
                asked = np.atleast_2d(coalitions)
                mixed = np.where(asked[:, None, :], row, problem.background)
                averages: Vector = (
                    function(mixed.reshape(-1, width)).reshape(-1, count).mean(axis=1)
                )
                return averages

            empty = worth(np.zeros(width, dtype=bool))[0]
            own = make(n=width, random_state=seed)
            budget = max(predictions // count, width + 2)
            found = own.approximate(budget, lambda asked, empty=empty: worth(asked) - empty)
            values[i] = [found[j,] for j in range(width)]
        return Estimate(values, function.row_count / len(problem.explained))

    return estimate


def peers() -> Iterator[tuple[str, list[Estimator]]]:
    """Yield the others; of several estimators, the best one for each model counts."""
    yield "PermutationExplainer", [permutation_explainer]
    yield "KernelExplainer", [kernel_explainer]
    if importlib.util.find_spec("shapiq"):
        yield "shapiq's best", [shapiq_estimator(name) for name in _SHAPIQ]


class Ours(NamedTuple):
    """Our estimates of several seeds.

    Attributes
    ----------
    errors, standard_errors : (n_seeds, n_rows, n_features)
    row_count : float
        Predictions for each row.
    """

    errors: Cube
    standard_errors: Cube
    row_count: float

    @property
    def coverage(self) -> float:
        """Share of 90 % intervals that contain the truth; values without error do not count."""
        size = np.sqrt(np.mean(self.errors**2))
        has_error = self.standard_errors > 1e-6 * size
        is_inside = np.abs(self.errors) <= _LEVEL * self.standard_errors
        return float(is_inside[has_error].mean())


def ours(problem: Problem, truth: Matrix) -> Ours:
    """Estimate by random orders, once for each seed."""
    errors, standard_errors = np.empty((2, _SEEDS, *truth.shape))
    for seed in range(_SEEDS):
        rows, ledger = problem.rows()
        before = ledger.predicted
        estimated = attribute_by_permutations(rows, _ORDERS, seed)
        row_count = (ledger.predicted - before) / len(truth)
        errors[seed] = estimated.values[..., 0] - truth
        standard_errors[seed] = estimated.standard_errors[..., 0]
    return Ours(errors, standard_errors, row_count)


def size(errors: Array, row_count: float) -> float:
    """Return the error that a single prediction would leave: root mean square times root."""
    return float(np.sqrt(np.mean(errors**2) * row_count))


def peer_size(
    estimators: list[Estimator], problem: Problem, truth: Matrix, predictions: int
) -> float:
    """Return the size of the errors of the best of some estimators."""
    sizes = []
    for estimator in estimators:
        runs = [estimator(problem, predictions, seed) for seed in range(_PEER_SEEDS)]
        errors = np.stack([run.values - truth for run in runs])
        sizes.append(size(errors, float(np.mean([run.row_count for run in runs]))))
    return min(sizes)


class Measured(NamedTuple):
    """What was measured of a problem: words, shares, and errors of others over ours."""

    words: list[Any]
    shares: list[float]
    ratios: list[float]

    def line(self) -> str:
        """Return the line of the table."""
        cells = [*self.words, *(f"{100 * share:.1f} %" for share in self.shares)]
        return _line([*cells, *(f"{ratio:.1f}" for ratio in self.ratios)])


def measured(problem: Problem) -> Measured:
    """Measure a problem on each background."""
    shares, few = list[float](), problem.on_background(_BACKGROUNDS[0])
    for count in reversed(_BACKGROUNDS):
        own = problem.on_background(count)
        truth = truth_of(own)
        found = ours(own, truth)
        error = np.sqrt(np.mean(found.errors**2) / np.mean(truth**2))
        shares = [float(error), found.coverage, *shares]
    least = size(found.errors, found.row_count)
    predictions = permutation_cost(problem.feature_count, _ORDERS)
    ratios = [peer_size(each, few, truth, predictions) / least for _, each in peers()]
    return Measured([problem.name, problem.feature_count, f"{predictions:,}"], shares, ratios)


def table() -> Iterator[str]:
    """Measure, and yield the lines of the table."""
    heads = ["Model", "Features", "Predictions for each row"]
    for count in _BACKGROUNDS:
        heads += [f"Error, {count} rows", f"Coverage, {count} rows"]
    heads += [f"{name}: error over ours" for name, _ in peers()]
    yield _line(heads)
    yield "| --- |" + " ---: |" * (len(heads) - 1)
    parts = []
    for problem in problems():
        parts.append(measured(problem))
        yield parts[-1].line()
    shares = np.median([part.shares for part in parts], axis=0).tolist()
    ratios = np.median([part.ratios for part in parts], axis=0).tolist()
    yield Measured(["median", "", ""], shares, ratios).line()


def _line(cells: list[Any]) -> str:
    return "| " + " | ".join(map(str, cells)) + " |"


def main() -> None:
    """Print the table, or write it."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--write", action="store_true")
    is_written, lines = arguments.parse_args().write, []
    for line in table():
        print(line, flush=True)
        lines.append(line)
    if is_written:
        before, rest = PAGE.read_text().split(_BEGIN, 1)
        after, text = rest.split(_END, 1)[1], "\n".join(lines)
        PAGE.write_text(f"{before}{_BEGIN}\n\n{text}\n\n{_END}{after}")


if __name__ == "__main__":
    main()
