"""The score as it depends on the weight: where weights were tried, or piece by piece."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCurve:
    """Scores and what is predicted, by weight.

    Attributes
    ----------
    lows, highs : (n,)
        Ends of the pieces, ascending; the same where single weights were tried.
    scores : (n,)
    shares : (n, n_classes)
        Of the moved rows' weight, predicted as each class.
    """

    lows: Vector
    highs: Vector
    scores: Vector
    shares: Matrix

    def __len__(self) -> int:
        return len(self.lows)

    @property
    def is_pieces(self) -> bool:
        """Whether every weight is in a piece."""
        return bool((self.highs > self.lows).any())

    def at(self, weights: Vector) -> tuple[Vector, Matrix]:
        """Look weights up among pieces: (n_weights,) scores, (n_weights, n_classes) shares."""
        places = np.searchsorted(self.lows, weights, side="right") - 1
        return self.scores[places], self.shares[places]

    def similarities(self, limit: float) -> Vector:
        """Equation 4, with the moved rows as D: (n_classes,).

        Of pieces the sum over weights is an integral.
        """
        importance = limit - self.lows
        if self.is_pieces:
            importance = (self.highs - self.lows) * (limit - (self.highs + self.lows) / 2)
        if not importance.sum() > 0:
            return np.full(self.shares.shape[1], np.nan)
        found: Vector = importance @ self.shares / importance.sum()
        return found

    def windows(self, borders: Vector) -> tuple[Vector, Matrix]:
        """Average in windows, NaN in empty ones: (n_windows,) scores, (n_windows, n_classes)."""
        count = len(borders) - 1
        scores = np.full(count, np.nan)
        shares = np.full((count, self.shares.shape[1]), np.nan)
        for window in range(count):
            within = self._within(borders[window], borders[window + 1], last=window == count - 1)
            inside = np.flatnonzero(within)  # 0 times an infinite loss is no number
            if len(inside):
                part = within[inside] / within[inside].sum()
                scores[window] = part @ self.scores[inside]
                shares[window] = part @ self.shares[inside]
        return scores, shares

    def _within(self, low: float, high: float, *, last: bool) -> Vector:
        """How much of each piece, or which weights, lie in a window; the last has its end."""
        if self.is_pieces:
            return (np.minimum(self.highs, high) - np.maximum(self.lows, low)).clip(0)
        inside = (self.lows >= low) & ((self.lows < high) | last)
        return inside.astype(np.float64)

    def joined(self, count: int) -> ScoreCurve:
        """Join neighbours, evenly, so that at most so many points are left."""
        if len(self) <= count:
            return self
        starts = np.linspace(0, len(self), count, endpoint=False).astype(np.intp)
        size = np.where(self.is_pieces, self.highs - self.lows, 1.0)
        total = np.add.reduceat(size, starts)
        # Pieces of which each holds for one number only count alike.
        size = np.where(np.repeat(total, np.diff([*starts, len(self)])) > 0, size, 1.0)
        total = np.add.reduceat(size, starts)
        ends = np.append(starts[1:], len(self)) - 1
        return ScoreCurve(
            self.lows[starts],
            self.highs[ends],
            np.add.reduceat(size * self.scores, starts) / total,
            np.add.reduceat(size[:, None] * self.shares, starts) / total[:, None],
        )


def from_trials(weights: Vector, scores: Vector, shares: Matrix) -> ScoreCurve:
    """Make a curve of single weights, in any order."""
    order = np.argsort(weights, kind="stable")
    return ScoreCurve(weights[order], weights[order], scores[order], shares[order])


def as_shares(counts: Matrix) -> Matrix:
    """Divide weights of rows by their sum; NaN where no row weighs anything."""
    with np.errstate(invalid="ignore"):
        shares: Matrix = counts / counts.sum(axis=1, keepdims=True)
    return shares
