"""Score curve over the weight: points of a search, or pieces that cover all weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector


@dataclass(frozen=True, slots=True, eq=False)
class ScoreCurve:
    """Scores and shares of predicted classes, by weight.

    Attributes
    ----------
    lows, highs : (n,)
        Ends of the pieces, ascending; equal for single weights.
    scores : (n,)
    shares : (n, n_classes)
        Share of the moved rows' weight predicted as each class.
    """

    lows: Vector
    highs: Vector
    scores: Vector
    shares: Matrix

    def __len__(self) -> int:
        return len(self.lows)

    @property
    def is_pieces(self) -> bool:
        """Return whether the curve consists of pieces and not of single weights."""
        return bool((self.highs > self.lows).any())

    def at(self, weights: Vector) -> tuple[Vector, Matrix]:
        """Evaluate pieces: scores (n_weights,) and shares (n_weights, n_classes)."""
        places = np.searchsorted(self.lows, weights, side="right") - 1
        return self.scores[places], self.shares[places]

    def similarities(self, limit: float) -> Vector:
        """Compute Equation 4, with the moved rows as D: (n_classes,).

        For pieces, the sum over weights is an integral.
        """
        importance = limit - self.lows
        if self.is_pieces:
            importance = (self.highs - self.lows) * (limit - (self.highs + self.lows) / 2)
        if not importance.sum() > 0:
            return np.full(self.shares.shape[1], np.nan)
        similarities: Vector = importance @ self.shares / importance.sum()
        return similarities

    def windows(self, borders: Vector) -> tuple[Vector, Matrix]:
        """Average by window, NaN if empty: scores (n_windows,), shares (n_windows, n_classes)."""
        count = len(borders) - 1
        scores = np.full(count, np.nan)
        shares = np.full((count, self.shares.shape[1]), np.nan)
        for window in range(count):
            within = self._within(borders[window], borders[window + 1], last=window == count - 1)
            inside = np.flatnonzero(within)  # 0 · ∞ is NaN
            if len(inside):
                part = within[inside] / within[inside].sum()
                scores[window] = part @ self.scores[inside]
                shares[window] = part @ self.shares[inside]
        return scores, shares

    def _within(self, low: float, high: float, *, last: bool) -> Vector:
        """Return each piece's length in a window, or 1 per weight; the last window is closed."""
        if self.is_pieces:
            return (np.minimum(self.highs, high) - np.maximum(self.lows, low)).clip(0)
        inside = (self.lows >= low) & ((self.lows < high) | last)
        return inside.astype(np.float64)

    def joined(self, count: int) -> ScoreCurve:
        """Merge neighbours evenly, down to at most `count` points."""
        if len(self) <= count:
            return self
        starts = np.linspace(0, len(self), count, endpoint=False).astype(np.intp)
        size = np.where(self.is_pieces, self.highs - self.lows, 1.0)
        total = np.add.reduceat(size, starts)
        # Pieces of length 0 count equally.
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
    """Build a curve from the single weights of a search, in any order."""
    order = np.argsort(weights, kind="stable")
    return ScoreCurve(weights[order], weights[order], scores[order], shares[order])


def as_shares(counts: Matrix) -> Matrix:
    """Divide the weights of rows by their sum; NaN if all are 0."""
    with np.errstate(invalid="ignore"):
        shares: Matrix = counts / counts.sum(axis=1, keepdims=True)
    return shares
