"""Contrasts of hybrid rows: their averages over backgrounds are the terms of statistics.

A contrast C[i, k] of a base i and a background k averages over k to a term T_i, up to a constant.
The numerator of a statistic is the variance of T over the rows, of which a block has an unbiased
estimate.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.methods.surrogates.row_blocks import (
    BACKGROUND,
    BASE,
    BLOCK,
    HYBRIDS,
    BlockValues,
    Group,
)

Contrast = Callable[[BlockValues, int], Array]
"""Contrast in the first blocks: (n_blocks, BLOCK, BLOCK)."""


def _rows(values: Array) -> Array:
    """Return the value of each base itself: (n_blocks, BLOCK, 1)."""
    own: Array = np.diagonal(values, axis1=1, axis2=2)[:, :, None]
    return own


def overall(group: Group) -> Contrast:
    r"""Return the contrast of f - F_j - F_\j: 0 for every pair of rows where j acts alone."""

    def contrast(values: BlockValues, count: int) -> Array:
        own = values.at(group, count)
        return _rows(own) - own - own.swapaxes(1, 2)

    return contrast


def importance(group: Group) -> Contrast:
    r"""Return the contrast of f - F_\j."""

    def contrast(values: BlockValues, count: int) -> Array:
        own = values.at(group, count)
        return _rows(own) - own.swapaxes(1, 2)

    return contrast


def total(groups: Sequence[Group]) -> Contrast:
    """Return the contrast of f - Σ_j F_j."""

    def of(values: BlockValues, count: int) -> Array:
        own = [values.at(group, count) for group in groups]
        contrast: Array = _rows(own[0]) - np.sum(own, axis=0)
        return contrast

    return of


def pairwise(first: Group, second: Group, both: Group) -> Contrast:
    """Return the contrast of F_jk - F_j - F_k: constant where they do not act together."""

    def of(values: BlockValues, count: int) -> Array:
        alone = values.at(first, count) + values.at(second, count)
        contrast: Array = values.at(both, count) - alone
        return contrast

    return of


def whole(both: Group) -> Contrast:
    """Return the contrast of F_jk."""
    return lambda values, count: values.at(both, count)


def off_diagonal(contrast: Array) -> Array:
    """Return contrasts of different rows, less the mean of their background: (n_blocks, HYBRIDS).

    What a background adds to the contrasts of all bases is no part of a term.
    """
    square = contrast.copy()
    places = np.arange(BLOCK)
    square[:, places, places] = 0.0
    square -= square.sum(axis=1, keepdims=True) / (BLOCK - 1)
    centred: Array = square[:, BASE, BACKGROUND]
    return centred


def term_variances(contrast: Array) -> Vector:
    r"""Estimate the variance of a term from each block, without bias: (n_blocks,).

    The mean over distinct i, i', k, k' of (C_ik - C_i'k)(C_ik' - C_i'k') / 2: squares would have
    the variance of the average over few backgrounds in them.
    """
    square = np.zeros_like(contrast)
    square[:, BASE, BACKGROUND] = off_diagonal(contrast)
    rows, columns = square.sum(axis=2), square.sum(axis=1)
    squares = (square**2).sum(axis=(1, 2))
    same_base = (rows**2).sum(axis=1) - squares
    apart = (
        square.sum(axis=(1, 2)) ** 2
        - (rows**2).sum(axis=1)
        - (columns**2).sum(axis=1)
        - 2 * (rows * columns).sum(axis=1)
        + squares
        + (square * square.swapaxes(1, 2)).sum(axis=(1, 2))
    )
    triples = HYBRIDS * (BLOCK - 2)
    variances: Vector = same_base / triples - apart / (triples * (BLOCK - 3))
    return variances
