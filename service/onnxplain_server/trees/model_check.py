"""Check of trees against the model, on rows of a table and on rows that are made of their values.

Effects are averages over combinations of values that no row of the table has, which may reach
leaves together that rows of the table never do.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.core.model import Model
from onnxplain_server.core.rows import Features, feeds
from onnxplain_server.effects.background import Background
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.kernels.summing import sum_leaves
from onnxplain_server.trees.reading.axes import MISSING, Axis, value_of
from onnxplain_server.trees.reading.check import (
    RELATIVE,
    compare_with_made,
    disagreement,
    first_difference,
    linear_rounding,
    rounding,
)
from onnxplain_server.trees.reading.ensemble import Ensemble
from onnxplain_server.trees.reading.linear.part import LinearPart
from onnxplain_server.trees.reading.links import LinkedEnsemble, LinkFunction, Trees
from onnxplain_server.trees.reading.refusal import Refusal
from onnxplain_server.trees.reading.sums.with_trees import EnsembleWithLinear

_PROBABILITY_ROUNDING = 1e-5
_EDGE_SHARE = 0.5
"""Chance that a value lies at, before or between the ends of cells, and is none of the table."""


def check_trees(
    trees: Trees, model: Model, background: Background, pool: BlockPool
) -> Refusal | None:
    """Compare trees with the model's predictions.

    Parameters
    ----------
    background : Background
        Rows of the table; as many are made of their values.

    Returns
    -------
    Refusal or None
        The refusal names what differs.
    """
    columns = background.columns
    compare = partial(_disagreement, trees, model, background.features, pool=pool)
    return compare_with_made(compare, columns, lambda: made_rows(_sums(trees), columns))


def _sums(trees: Trees) -> Ensemble:
    return trees if isinstance(trees, Ensemble) else trees.ensemble


def _disagreement(
    trees: Trees,
    model: Model,
    features: Features,
    columns: Sequence[Array],
    pool: BlockPool,
) -> Refusal | None:
    """Compare what trees and model say of some rows."""
    predicted = model.predict(feeds(features, columns)).astype(np.float64)
    ensemble = _sums(trees)
    codes = np.stack([ensemble.codes(j, column) for j, column in enumerate(columns)])
    sums = sum_leaves(ensemble, codes, pool)
    if isinstance(trees, LinkedEnsemble):
        return link_disagreement(trees, sums, predicted)
    outputs = sums @ ensemble.matrix.T + ensemble.offset
    if isinstance(trees, EnsembleWithLinear):
        linear = trees.linear
        whole = outputs + sum(linear.at(j, columns[j]) for j in linear.features)
        allowed = RELATIVE * np.abs(predicted) + rounding(ensemble)
        allowed += linear_rounding(linear, columns)
        return first_difference(whole, predicted, allowed, "its trees and linear part add up to")
    return disagreement(ensemble, outputs, predicted)


def link_disagreement(linked: LinkedEnsemble, sums: Matrix, predicted: Matrix) -> Refusal | None:
    """Compare outputs behind a link with the model's predictions.

    Parameters
    ----------
    sums : (n_rows, n_targets)
        Sums of leaves.
    predicted : (n_rows, n_outputs)

    Returns
    -------
    Refusal or None
        None where they agree within the rounding of float32 scores.
    """
    computed = linked.to_outputs(sums)
    allowed = np.full(computed.shape, _PROBABILITY_ROUNDING)
    if linked.link is LinkFunction.EXPONENTIAL:
        # As steep as it is large.
        relative = RELATIVE + rounding(linked.ensemble)
        allowed = linked.combine_errors(relative * linked.to_linked(sums)) + RELATIVE * np.abs(
            predicted
        )
    return first_difference(computed, predicted, allowed, "its trees and their link give")


def refuse_missing(linear: LinearPart, features: Features) -> Refusal | None:
    """Refuse rows for which a linear function is no number.

    Whatever its coefficient is: 0 times a value that is missing or infinite is no number.
    """
    columns = [
        features.cast(j, column) if j in linear.features else column
        for j, column in enumerate(features.columns)
    ]
    missing = next(linear.not_finite(columns), None)
    if missing is None:
        return None
    return Refusal(
        f"a linear function beside its trees takes {features.names[missing]!r}, which has missing "
        "or infinite values"
    )


def made_rows(ensemble: Ensemble, columns: Sequence[Array]) -> tuple[Array, ...]:
    """Make as many rows as there are, of each feature's values by themselves.

    Parameters
    ----------
    columns : sequence of (n_rows,)
        In the model's types.

    Returns
    -------
    tuple of (n_rows,)
        The values of each column in another order; some lie at, before and between the ends of
        cells, within the column's range.
    """
    rng = np.random.default_rng(0)
    return tuple(
        _made(axis, rng.permutation(column), rng)
        for axis, column in zip(ensemble.axes, columns, strict=True)
    )


def _made(axis: Axis, column: Array, rng: np.random.Generator) -> Array:
    edges = _edges(axis, column, rng)
    if not len(edges):
        return column
    is_edge = rng.random(len(column)) < _EDGE_SHARE
    return np.where(is_edge, rng.choice(edges, len(column)), column)


def _edges(axis: Axis, column: Array, rng: np.random.Generator) -> Array:
    """Return values at, before and between ends of cells, that lie within a column's range."""
    if axis.categories is not None or axis.accepted or axis.dtype.kind == "b":
        return column[:0]
    known = column[np.isfinite(column)].astype(np.float64)
    keys = axis.cuts[axis.cuts < MISSING]
    if not len(known) or not len(keys):
        return column[:0]
    chosen = rng.choice(len(keys), len(column))
    starts = value_of(keys[chosen])
    ends = value_of(keys[np.minimum(chosen + 1, len(keys) - 1)])
    values = np.concatenate([starts, _before(starts, axis), starts / 2 + ends / 2])
    inside = values[(values >= known.min()) & (values <= known.max())]
    edges: Array = inside.astype(axis.dtype)
    return edges


def _before(starts: Vector, axis: Axis) -> Vector:
    """Return the numbers of an axis' type before others."""
    if axis.dtype.kind != "f":
        return starts - 1
    with np.errstate(over="ignore"):
        typed = starts.astype(axis.dtype)
    before: Vector = np.nextafter(typed, axis.dtype.type(-np.inf)).astype(np.float64)
    return before
