"""Corrected statistics: a surrogate's exact numerator, and what the model's hybrids add to it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Flags, Vector
from onnxplain_server.methods.surrogates.contrasts import (
    Contrast,
    off_diagonal,
    term_variances,
)
from onnxplain_server.methods.surrogates.cross_fit import CrossFit, FoldSurrogate
from onnxplain_server.methods.surrogates.row_blocks import BLOCK, HYBRIDS, BlockValues

Term = Callable[[FoldSurrogate], Vector]
"""Exact term of a surrogate at the rows: (n_rows,)."""
_MOST_SCALE = 1.5
"""Largest factor of a surrogate."""


@dataclass(frozen=True, slots=True, eq=False)
class CorrectedBlocks:
    """Estimates of one numerator by single blocks; empty where no block was predicted.

    Attributes
    ----------
    numerators : (n_blocks,)
        Unbiased, whatever the surrogate.
    known : (n_blocks,)
        The part that the scaled surrogate gives.
    surrogate : float
        Numerator of the surrogates themselves.
    residual : float
        Mean square of what the scaled surrogate leaves of a contrast.
    """

    numerators: Vector
    known: Vector
    surrogate: float
    residual: float

    @property
    def corrections(self) -> Vector:
        """Differences of blocks to the known part."""
        return self.numerators - self.known


def weighted_variance(values: Vector, weights: Vector) -> float:
    """Return the variance over weighted rows."""
    shares = weights / weights.sum()
    return float(shares @ (values - shares @ values) ** 2)


@dataclass(frozen=True, slots=True, eq=False)
class Correction:
    """Correction of statistics of one output.

    Attributes
    ----------
    model : BlockValues
    fitted : CrossFit
    weights : (n_rows,)
    """

    model: BlockValues
    fitted: CrossFit
    weights: Vector

    def of(self, contrast: Contrast, term: Term, count: int) -> CorrectedBlocks:
        """Estimate a numerator from the first blocks.

        The surrogate of each fold is scaled by the slope of the model's contrasts on its own in
        the other folds: to 0 where the model has no such contrast. Neither surrogate nor slope
        depend on the fold.
        """
        terms = [term(fold) for fold in self.fitted.folds]
        plain = [weighted_variance(own, self.weights) for own in terms]
        surrogate = float(np.mean(plain))
        if count == 0:
            return CorrectedBlocks(np.empty(0), np.empty(0), surrogate, np.nan)
        true = contrast(self.model, count)
        numerators, known = np.empty(count), np.empty(count)
        centred = off_diagonal(true)
        squares = 0.0
        for fold, own, variance in zip(self.fitted.folds, terms, plain, strict=True):
            chosen = fold.left_out[:count]
            if not chosen.any():
                continue
            guessed = contrast(fold.values, count)
            centred_guess = off_diagonal(guessed)
            scale = _slope(centred, centred_guess, ~chosen)
            at_base = scale * own[self.model.blocks[:count][chosen]]
            corrected = at_base[:, :, None] + true[chosen] - scale * guessed[chosen]
            known[chosen] = scale**2 * variance
            numerators[chosen] = (
                known[chosen] + term_variances(corrected) - np.var(at_base, axis=1, ddof=1)
            )
            left = centred[chosen] - scale * centred_guess[chosen]
            squares += float((left**2).sum())
        return CorrectedBlocks(numerators, known, surrogate, squares / (count * (HYBRIDS - BLOCK)))


def _slope(true: Array, guessed: Array, others: Flags) -> float:
    """Return the slope of contrasts on those of surrogates, in blocks of other folds."""
    squares = float((guessed[others] ** 2).sum())
    if not others.any():
        return 1.0
    if squares == 0:
        return 0.0
    return float(np.clip((true[others] * guessed[others]).sum() / squares, 0, _MOST_SCALE))


def expected_variance(blocks: CorrectedBlocks) -> float:
    """Return the variance of the mean correction, up to a factor, if residuals are independent."""
    linear = 4 * float(np.mean(blocks.known)) * blocks.residual / (HYBRIDS / 2)
    quadratic = 2 * blocks.residual**2 / (HYBRIDS * (BLOCK - 2) / 2)
    return (linear + quadratic) / len(blocks.numerators)
