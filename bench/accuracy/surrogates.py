"""Errors of interactions by the engine SURROGATE, beside rows drawn and the surrogate alone.

`python -m bench.accuracy.surrogates` prints a line for each model and budget, and the summary;
`--write` puts the table into docs/studies/surrogate.md. The truth is a full prediction of all
hybrids of the rows.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

import numpy as np
from onnxplain_server.adapters.programs.warm_up import NullHost
from onnxplain_server.core.arrays import Indices, Matrix, Vector
from onnxplain_server.core.interfaces import ComputationHost, Host
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.background import Background, unmerged
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.methods.interactions.surrogate_measurement import (
    ModelRows,
    SurrogateMeasurement,
)
from onnxplain_server.methods.resampling import mean_square_interval
from onnxplain_server.methods.surrogates.shrinkage import estimate
from scipy.stats import t as student
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, WhiteKernel
from sklearn.linear_model import LinearRegression
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer, StandardScaler
from sklearn.svm import SVR

PAGE = Path("docs/studies/surrogate.md")
_BEGIN, _END = "<!-- surrogates -->", "<!-- end of surrogates -->"
BUDGETS = (1_000, 3_000, 10_000, 30_000)
_ROWS, _TRAINED, _LEVEL = 100, 500, 0.9
_DRAWS = 20
"""Draws of rows whose errors are averaged."""
Group = tuple[int, ...]


class Problem(NamedTuple):
    """A model, its number of features, and what it is trained on."""

    name: str
    width: int
    target: Callable[[Matrix], Vector]
    make: Callable[[], object]


def smooth(x: Matrix) -> Vector:
    """Return Friedman's function with one more interaction, of the first features."""
    own = 10 * np.sin(np.pi * x[:, 0] * x[:, 1]) + 20 * (x[:, 2] - 0.5) ** 2
    return own + 10 * x[:, 3] + (8 * x[:, 4] * x[:, 0] if x.shape[1] > 4 else 0)


def jumps(x: Matrix) -> Vector:
    """Return a function of steps, of which some depend on each other."""
    first, second = x[:, 0] > 0.5, x[:, 1] > 0.3
    return 4.0 * first * second + 3.0 * (x[:, 2] > 0.6) + 2 * x[:, 3] * first


def additive(x: Matrix) -> Vector:
    """Return a sum of functions of one feature each."""
    return np.sin(4 * x[:, 0]) + x[:, 1] ** 2 + (x[:, 2] > 0.5) + x[:, 3]


def strong(x: Matrix) -> Vector:
    """Return a product that is most of the function."""
    return 6 * (x[:, 0] - 0.5) * (x[:, 1] - 0.5) + 0.5 * x[:, 2]


def _network() -> object:
    return MLPRegressor(hidden_layer_sizes=(32,), max_iter=800, random_state=0)


def _gaussian() -> object:
    kernel = RBF(0.5) + WhiteKernel(0.01)
    return GaussianProcessRegressor(kernel, optimizer=None, normalize_y=True)


def _scaled(make: Callable[[], object]) -> Callable[[], object]:
    return lambda: make_pipeline(StandardScaler(), make())


PROBLEMS = (
    Problem("network, smooth", 8, smooth, _network),
    Problem("network, jumps", 10, jumps, _network),
    Problem("network, one strong", 5, strong, _network),
    Problem("network pipeline, smooth", 30, smooth, _scaled(_network)),
    Problem("support vectors, smooth", 8, smooth, lambda: SVR(C=10)),
    Problem("support vectors, one strong", 12, strong, lambda: SVR(C=10)),
    Problem("support vectors pipeline, jumps", 20, jumps, _scaled(lambda: SVR(C=10, epsilon=0.3))),
    Problem("neighbours, smooth", 8, smooth, lambda: KNeighborsRegressor(10)),
    Problem("neighbours pipeline, jumps", 5, jumps, _scaled(lambda: KNeighborsRegressor(7))),
    Problem("Gaussian process, smooth", 6, smooth, _gaussian),
    Problem("Gaussian process pipeline, strong", 10, strong, _scaled(_gaussian)),
    Problem("network, trained additive", 10, additive, _network),
    Problem(
        "splines, no interaction",
        10,
        additive,
        lambda: make_pipeline(SplineTransformer(8), LinearRegression()),
    ),
)


def trained(problem: Problem) -> tuple[Callable[[Matrix], Vector], Matrix]:
    """Train a model; return its predictions and the rows explained."""
    random = np.random.default_rng(len(problem.name))
    x = random.uniform(size=(_TRAINED, problem.width))
    y = problem.target(x)
    y = y / y.std() + 0.1 * random.normal(size=len(y))
    model = problem.make().fit(x, y)  # type: ignore[attr-defined] # of scikit-learn
    return model.predict, x[:_ROWS]


class Hybrids(NamedTuple):
    """Predictions of all hybrids: (n_rows, n_rows) of each group, base by background."""

    rows: Vector
    groups: dict[Group, Matrix]

    @classmethod
    def of(cls, predict: Callable[[Matrix], Vector], x: Matrix) -> Hybrids:
        """Predict them."""
        singles = [(j,) for j in range(x.shape[1])]
        groups = {}
        for group in (*singles, *combinations(range(x.shape[1]), 2)):
            mixed = np.repeat(x[None], len(x), axis=0).copy()
            mixed[:, :, list(group)] = x[:, None, list(group)]
            groups[group] = predict(mixed.reshape(-1, x.shape[1])).reshape(len(x), len(x))
        return cls(predict(x), groups)

    def numerators(self, chosen: Indices) -> dict[Group, float]:
        """Return mean squares of overall terms and of pairs, on some rows alone."""
        at = np.ix_(chosen, chosen)
        means = {group: own[at].mean(axis=1) for group, own in self.groups.items()}
        found = {}
        for group, own in means.items():
            if len(group) == 1:
                term = self.rows[chosen] - own - self.groups[group][at].mean(axis=0)
            else:
                term = own - means[group[:1]] - means[group[1:]]
            found[group] = float(np.var(term))
        return found


class Errors(NamedTuple):
    """Largest errors of overall H² and of pairs, as shares of the variance, by one way."""

    overall: float
    pairs: float

    @classmethod
    def of(cls, found: dict[Group, float], truth: dict[Group, float]) -> Errors:
        """Compare shares."""
        by_size = [
            max(abs(found[g] - truth[g]) for g in truth if len(g) == size) for size in (1, 2)
        ]
        return cls(*by_size)


class Case(NamedTuple):
    """Errors of one model at one budget, and how often intervals hold the truth."""

    problem: Problem
    budget: int
    drawn: Errors
    alone: Errors
    engine: Errors
    held: float
    false_alarms: float
    fidelity: float
    seconds: float


def background(x: Matrix) -> Background:
    """Return rows as a background, of features named x0, x1 and so on."""
    names = tuple(f"x{j}" for j in range(x.shape[1]))
    features = Features(names, tuple(x.T.copy()), (np.dtype(np.float64),) * x.shape[1], "X")
    return unmerged(features, np.ones(len(x)), np.arange(len(x)))


def _shares(found: dict[Group, float], variance: float) -> dict[Group, float]:
    return {group: value / variance for group, value in found.items()}


def drawn_errors(hybrids: Hybrids, truth: dict[Group, float], budget: int) -> Errors:
    """Return mean errors of drawing as many rows as a budget allows."""
    count = min(max(int(np.sqrt(budget / len(hybrids.groups))), 2), _ROWS)
    random = np.random.default_rng(0)
    errors = []
    for _ in range(_DRAWS):
        rows = random.permutation(_ROWS)[:count]
        found = _shares(hybrids.numerators(rows), float(np.var(hybrids.rows[rows])))
        errors.append(Errors.of(found, truth))
    return Errors(*np.mean(errors, axis=0).tolist())


def cases(problem: Problem, budgets: Sequence[int], seed: int) -> Iterator[Case]:
    """Measure a model."""
    predict, x = trained(problem)
    hybrids = Hybrids.of(predict, x)
    variance = float(np.var(hybrids.rows))
    truth = _shares(hybrids.numerators(np.arange(_ROWS)), variance)
    host: ComputationHost = Host.of(NullHost())
    for budget in budgets:
        start = time.perf_counter()

        def mixed(sources: Indices) -> Matrix:
            return predict(x[sources, np.arange(x.shape[1])])[:, None]

        with ThreadPoolExecutor(1) as threads:
            rows = ModelRows(background(x), hybrids.rows[:, None], mixed)
            features = range(x.shape[1])
            count = budget - _ROWS
            parts = rows, features, count, seed, threads, Ledger(host)
            (found,) = SurrogateMeasurement(*parts).run(lambda sizes: [*sizes.pairs])
        alone, engine, held, alarms = {}, {}, [], []
        for order, size in (("overall", 1), ("pairwise", 2)):
            groups = [g for g in truth if len(g) == size]
            own = [found.parts[order, g] for g in groups]
            numbers = estimate(own)
            reach = student.ppf(0.5 + _LEVEL / 2, numbers.freedom) * numbers.errors / variance
            slack = 1e-9
            for place, group in enumerate(groups):
                alone[group] = own[place].surrogate / variance
                engine[group] = float(numbers.values[place]) / variance
                if np.isfinite(reach[place]):
                    center = numbers.unbiased[[place]] / variance
                    ends = mean_square_interval(np.maximum(center, 0), center, reach[[place]])
                    held.append(ends[0][0] - slack <= truth[group] <= ends[1][0] + slack)
                    if size == 2 and truth[group] < 1e-9:
                        low = numbers.unbiased[place] / variance - reach[place]
                        alarms.append(low > slack)
        yield Case(
            problem,
            budget,
            drawn_errors(hybrids, truth, budget),
            Errors.of(alone, truth),
            Errors.of(engine, truth),
            float(np.mean(held)),
            float(np.mean(alarms)) if alarms else float("nan"),
            found.fidelity,
            time.perf_counter() - start,
        )


def row_of(case: Case) -> str:
    """Return the row of the table."""
    ways = (case.drawn, case.alone, case.engine)
    errors = [f"{value:.4f}" for kind in range(2) for value in (way[kind] for way in ways)]
    cells = [case.problem.name, f"{case.problem.width}", f"{case.budget:,}", *errors]
    return "| " + " | ".join([*cells, f"{case.held:.0%}", f"{case.fidelity:.3f}"]) + " |"


def summary(found: Sequence[Case]) -> Iterator[str]:
    """Yield sentences about all cases."""
    for budget in sorted({case.budget for case in found}):
        own = [case for case in found if case.budget == budget]
        within = [case.engine.overall <= 0.01 and case.engine.pairs <= 0.01 for case in own]
        errors = np.array([[*c.drawn, *c.alone, *c.engine] for c in own])
        worse = errors[:, 4:] > 2 * np.minimum(errors[:, :2], errors[:, 2:4]) + 1e-4
        medians = ", ".join(f"{value:.4f}" for value in np.median(errors, axis=0))
        yield (
            f"- {budget:,} predictions: median errors (rows drawn, alone, engine; each overall and "
            f"pairs) {medians}; engine within .01 in {np.mean(within):.0%}; worse than twice the "
            f"better of the others in {worse.mean():.0%}; intervals hold the truth in "
            f"{np.mean([c.held for c in own]):.0%}."
        )
    few = {c.problem.name: c.engine for c in found if c.budget == BUDGETS[0]}
    many = {c.problem.name: c.drawn for c in found if c.budget == BUDGETS[-1]}
    both = [(few[name], many[name]) for name in few if name in many]
    if both:
        better = np.mean([[a.overall <= b.overall, a.pairs <= b.pairs] for a, b in both], axis=0)
        yield (
            f"- {BUDGETS[0]:,} predictions by the engine err no more than rows drawn with "
            f"{BUDGETS[-1]:,} in {better[0]:.0%} (overall) and {better[1]:.0%} (pairs) of models."
        )


_COLUMNS = (
    *("Model", "Features", "Predictions", "H²_j: rows drawn", "alone", "engine"),
    *("pairs: rows drawn", "alone", "engine", "90 % intervals hold", "fidelity"),
)
_HEAD = (f"| {' | '.join(_COLUMNS)} |", "| --- " + "| ---: " * (len(_COLUMNS) - 1) + "|")


def write(found: Sequence[Case]) -> None:
    """Put table and summary into the page."""
    text = PAGE.read_text()
    before, rest = text.split(_BEGIN)
    _, after = rest.split(_END)
    lines = [*_HEAD, *map(row_of, found), "", *summary(found)]
    PAGE.write_text(f"{before}{_BEGIN}\n\n" + "\n".join(lines) + f"\n\n{_END}{after}")


def main() -> None:
    """Measure all models at all budgets."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--models", type=int, nargs="*", default=range(len(PROBLEMS)))
    parser.add_argument("--budgets", type=int, nargs="*", default=BUDGETS)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--write", action="store_true")
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    found = []
    for line in _HEAD:
        print(line)
    for problem in map(PROBLEMS.__getitem__, asked.models):
        for case in cases(problem, asked.budgets, asked.seed):
            found.append(case)
            print(row_of(case), f"{case.seconds:.0f} s", flush=True)
    for line in summary(found):
        print(line)
    if asked.write:
        write(found)


if __name__ == "__main__":
    main()
