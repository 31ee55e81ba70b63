"""Permutation test of model terms: p-values that a term explains the target.

A term D is a part of the prediction f, centred. Without it the model leaves the residuals
e = y − (f − D). If the term is associated with them, T = Σ w D e is large; if not, the values of D
are exchangeable between rows. So T is compared with its values when D is permuted over the rows,
while residuals and weights stay. Counting the identity among the permutations keeps p-values above
0, and the test from rejecting too often:
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
"""Numbers per block of permutations: 2 MB, which fit into the CPU cache."""
_MAX_PENDING_BYTES = 32 << 20
"""Largest size of pending terms, which are tested with the same permutations."""
_ROUNDING = 1e-12
"""Relative rounding of sums that differ by the order of summands only."""


class PermutationTest:
    """Permutation tests of several terms, batched to share the permutations.

    Parameters
    ----------
    count : int
        Number of permutations, at least 1.
    seed : int
    residuals : (n_rows, n_outputs)
        Target minus prediction.
    weights : (n_rows,)
        Weights of rows in T; not repeat counts, since a permutation moves each row once.
    pause : callable () -> None
        Called between blocks of work; may raise to cancel.
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
        self._pending: dict[Hashable, Matrix] = {}
        self._p_values: dict[Hashable, Vector] = {}

    def take(self, rows: Array) -> PermutationTest:
        """Return the same test on a subset of rows, given by positions or a mask."""
        residuals, weights = self._residuals[rows], self._weights[rows]
        return PermutationTest(self._count, self._seed, residuals, weights, self._pause)

    def add(self, name: Hashable, term: Matrix) -> None:
        """Add a term to test: (n_rows, n_outputs), centred; a column of zeros has p-value 1."""
        self._pending[name] = term
        if len(self._pending) * term.nbytes >= _MAX_PENDING_BYTES:
            self._run()

    def p_values(self, name: Hashable) -> Vector:
        """Return one-sided p-values of a term: (n_outputs,).

        At least 1 / (1 + count). 1 for a column of zeros; NaN if term or residuals are NaN.
        """
        if self._pending:
            self._run()
        return self._p_values[name]

    def _run(self) -> None:
        """Test the pending terms."""
        columns = [
            _OutputTest(term[:, k], self._residuals[:, k], self._weights)
            for term in self._pending.values()
            for k in range(term.shape[1])
        ]
        for orders in self._orders():
            for column in columns:
                column.compare(orders)
            self._pause()
        p_values = np.array([column.p_value() for column in columns]).reshape(
            len(self._pending), -1
        )
        self._p_values |= zip(self._pending, p_values, strict=True)
        self._pending = {}

    def _orders(self) -> Iterator[npt.NDArray[np.intp]]:
        """Yield blocks of permutations, (n_orders, n_rows); the same ones on each call."""
        random, n = np.random.default_rng([self._seed, 2]), len(self._weights)
        size = max(1, _BLOCK // n)
        for start in range(0, self._count, size):
            rows = np.tile(np.arange(n), (min(size, self._count - start), 1))
            yield random.permuted(rows, axis=1)


class _OutputTest:
    """Test of one term for one output.

    Parameters
    ----------
    term, residuals, weights : (n_rows,)
        `residuals` are those of the full model.
    """

    def __init__(self, term: Vector, residuals: Vector, weights: Vector) -> None:
        without = center((residuals + term)[:, np.newaxis], weights)[:, 0]
        self._term = term
        self._weighted_residuals = weights * without  # sums to 0, so the mean of D cancels
        rounding = _ROUNDING * np.linalg.norm(self._term) * np.linalg.norm(self._weighted_residuals)
        self._threshold = float(term @ self._weighted_residuals - rounding)
        self._exceeded_count = self._permutation_count = 0

    def compare(self, orders: npt.NDArray[np.intp]) -> None:
        """Count the permutations, (n_orders, n_rows), with T at least as large as observed."""
        self._exceeded_count += int(
            np.count_nonzero(self._term[orders] @ self._weighted_residuals >= self._threshold)
        )
        self._permutation_count += len(orders)

    def p_value(self) -> float:
        return (
            (1 + self._exceeded_count) / (1 + self._permutation_count)
            if np.isfinite(self._threshold)
            else np.nan
        )
