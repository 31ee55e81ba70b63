"""Replicates of rows, as weights: bootstrap and jackknife.

A unit's weight in a replicate depends on its key and on the seed only: see `core.row_draws`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.core.contract_limits import InteractionsOptions
from onnxplain_server.core.model import Note
from onnxplain_server.core.row_draws import jackknife_groups, poisson_counts
from onnxplain_server.core.warnings import MethodWarning
from onnxplain_server.methods.resampling.units import RowUnits

MIN_ROWS = 100
"""Rows from which intervals carry no warning; with 50 and heavy tails, few have their coverage."""

Scheme: TypeAlias = InteractionsOptions.Resampling
"""Resampling scheme."""


@dataclass(frozen=True, slots=True)
class Resampling:
    """Options of resampling; see `Resampling` in the contract.

    Attributes
    ----------
    repeat_count : int
        Number of replicates; 0: no resampling.
    confidence_level : float
        In (0, 1).
    is_kept : bool
        Whether results keep the replicates of their statistics.
    """

    repeat_count: int = InteractionsOptions.repeat_count.default
    scheme: Scheme = InteractionsOptions.resampling.default
    confidence_level: float = InteractionsOptions.confidence_level.default
    is_kept: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Replicates:
    """Replicates of the rows, as weights.

    Attributes
    ----------
    weights : (n_replicates, n_rows)
        Not all 0 in any replicate.
    omitted : (n_replicates,)
        Share of the rows that a jackknife replicate omits; 0 for the bootstrap.
    """

    weights: Matrix
    omitted: Vector


def replicate(resampling: Resampling, weights: Vector, units: RowUnits, seed: int) -> Replicates:
    """Draw replicates of rows with their case weights, (n_rows,), and units."""
    match resampling.scheme:
        case Scheme.BOOTSTRAP:
            replicates = bootstrap(weights, units, seed, range(resampling.repeat_count))
            return Replicates(replicates, np.zeros(len(replicates)))
        case Scheme.JACKKNIFE:
            return _jackknife(weights, units, seed, resampling.repeat_count)


def bootstrap(weights: Vector, units: RowUnits, seed: int, repeats: Sequence[int]) -> Matrix:
    """Draw bootstrap replicates by their numbers: (n_replicates, n_rows).

    Each unit is in a replicate as often as a Poisson number of mean 1 says, so that no unit's
    weight depends on the others. Replicates without any row, in which nothing has a mean, are left
    out: of n units, a share of exp(-n).
    """
    replicates = bootstrap_counts(units, seed, repeats)
    has_rows = replicates.any(axis=1)
    if not has_rows.all():
        replicates = replicates[has_rows]
    replicates *= weights
    return replicates


def bootstrap_counts(units: RowUnits, seed: int, repeats: Sequence[int]) -> Matrix:
    """Draw how often each replicate has each row: (n_replicates, n_rows); perhaps none in one.

    A unit is in a replicate as often in any draw of rows, so replicates of groups of rows that
    share clusters belong together by their numbers.
    """
    return poisson_counts(units.keys, seed, repeats)


def _jackknife(weights: Vector, units: RowUnits, seed: int, group_count: int) -> Replicates:
    """Omit one random group of units per replicate, from background and evaluation alike.

    Each unit is in one group. Groups without rows, or with all of them, have no replicate.
    """
    groups = jackknife_groups(units.keys, group_count, seed)
    sizes = np.bincount(groups, minlength=group_count)
    numbers = np.flatnonzero((sizes > 0) & (sizes < len(weights)))
    return Replicates((groups != numbers[:, None]) * weights, sizes[numbers] / len(weights))


def few_rows_notes(resampling: Resampling, weights: Vector, units: RowUnits) -> tuple[Note, ...]:
    """Warn if rows, or clusters of them, are too few for the intervals."""
    if not resampling.repeat_count:
        return ()
    count = units.effective_count(weights)
    if count >= MIN_ROWS:
        return ()
    message = (
        f"Standard errors and intervals rest on an effective sample of {count:.4g} {units.noun}; "
        f"below {MIN_ROWS}, intervals may cover less often than their level says if predictions "
        "have heavy tails, and standard errors may be far off. "
        f"Send more {units.noun}, or raise row_count."
    )
    return (Note(MethodWarning.FEW_ROWS, message),)
