"""Whether terms of a model explain the target: p-values by permuting the terms over the rows.

A term D is a part of the prediction f, centred. Without it the model leaves the residuals
e = y − (f − D). If the term has to do with them, T = Σ w D e is large; if it has nothing to do
with them, any other row's D might stand in each row. So T is compared with what it is when D is
permuted over the rows, while residuals and weights stay where they are. Counting the rows as they
are among the permutations keeps the p-value from being 0, and the test from rejecting too often:
Phipson and Smyth (2010), "Permutation P-values Should Never Be Zero", Statistical Applications in
Genetics and Molecular Biology 9(1), article 39. doi:10.2202/1544-6115.1585
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.effects.weighted_mean import center

_BLOCK = 1 << 18
"""Numbers that are permuted at once: 2 MB, which stay in the cache."""
_MOST_BYTES = 32 << 20
"""For terms that wait to be tested with the same permutations."""
_ROUNDING = 1e-12
"""Of sums that are equal but for the order of their summands, relative to the largest possible."""


class PermutationTest:
    """Tests of several terms, all with the same permutations.

    Parameters
    ----------
    count : int
        Number of permutations, at least 1.
    seed : int
    residuals : (n_rows, n_outputs)
        Target less prediction.
    weights : (n_rows,)
        How much rows count in T. Not numbers of repeated rows: a permutation moves a row as one.
    pause : callable () -> None
        Called between blocks of work; what it raises ends it.
    """

    def __init__(
        self,
        count: int,
        seed: int,
        residuals: Matrix,
        weights: Vector,
        pause: Callable[[], None] = lambda: None,
    ) -> None:
        self._count = count
        self._seed = seed
        self._residuals = residuals
        self._weights = weights
        self._pause = pause
        self._waiting: dict[Hashable, Matrix] = {}
        self._p_values: dict[Hashable, Vector] = {}

    def take(self, rows: Array) -> PermutationTest:
        """The same test on some of the rows, given by positions or flags."""
        residuals, weights = self._residuals[rows], self._weights[rows]
        return PermutationTest(self._count, self._seed, residuals, weights, self._pause)

    def add(self, name: Hashable, term: Matrix) -> None:
        """Test a term: (n_rows, n_outputs), centred; a column of zeros is no term at all."""
        self._waiting[name] = term
        if len(self._waiting) * term.nbytes >= _MOST_BYTES:
            self._run()

    def p_values(self, name: Hashable) -> Vector:
        """One-sided p-values of a term: (n_outputs,).

        At least 1 / (1 + count). 1 of no term; NaN where the term or the residuals are.
        """
        if self._waiting:
            self._run()
        return self._p_values[name]

    def _run(self) -> None:
        """Test the terms that wait."""
        columns = [
            _Column(term[:, k], self._residuals[:, k], self._weights)
            for term in self._waiting.values()
            for k in range(term.shape[1])
        ]
        for orders in self._orders():
            for column in columns:
                column.compare(orders)
            self._pause()
        found = np.array([column.p_value() for column in columns]).reshape(len(self._waiting), -1)
        self._p_values |= zip(self._waiting, found, strict=True)
        self._waiting = {}

    def _orders(self) -> Iterator[npt.NDArray[np.intp]]:
        """Permutations, (n_orders, n_rows) at a time; the same ones whenever asked for."""
        random, n = np.random.default_rng([self._seed, 2]), len(self._weights)
        size = max(1, _BLOCK // n)
        for start in range(0, self._count, size):
            rows = np.tile(np.arange(n), (min(size, self._count - start), 1))
            yield random.permuted(rows, axis=1)


class _Column:
    """The test of one term for one output.

    Parameters
    ----------
    term, residuals, weights : (n_rows,)
        Residuals of the whole model.
    """

    def __init__(self, term: Vector, residuals: Vector, weights: Vector) -> None:
        without = center((residuals + term)[:, np.newaxis], weights)[:, 0]
        self._term = term
        self._pull = weights * without  # sums to 0, so that D's own mean does not matter
        rounding = _ROUNDING * np.linalg.norm(self._term) * np.linalg.norm(self._pull)
        self._least = float(term @ self._pull - rounding)
        self._reached = self._tried = 0

    def compare(self, orders: npt.NDArray[np.intp]) -> None:
        """Count the permutations, (n_orders, n_rows), under which T is as large as it is."""
        self._reached += int(np.count_nonzero(self._term[orders] @ self._pull >= self._least))
        self._tried += len(orders)

    def p_value(self) -> float:
        return (1 + self._reached) / (1 + self._tried) if np.isfinite(self._least) else np.nan
