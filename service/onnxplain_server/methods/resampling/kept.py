"""Kept replicates: statistics with their values in replicates of the rows, to compare answers by.

A unit's weight in a replicate depends on its key and on the seed only, so replicates of several
answers with one seed belong together by their numbers: see `units`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from onnxplain_server.core.arrays import Array, Matrix
from onnxplain_server.methods.resampling.replicates import Resampling

KEPT_REPEATS = 200
"""Replicates where answers keep them, and the request says nothing of their number."""


@dataclass(frozen=True, slots=True, eq=False)
class ReplicatedStatistic:
    """A statistic, and its values in replicates; see `ReplicatedStatistic` in the contract.

    Attributes
    ----------
    kind : str
        As the contract names it, like "IMPORTANCE".
    features : tuple of str
    group : str
        Group of rows; empty if rows are not grouped.
    grid : tuple of (n_points,) arrays, one per feature
        Empty for a single number, which has one point.
    values : (n_points, n_outputs)
    replicates : (n_replicates, n_points, n_outputs)
        NaN throughout a replicate that has no rows.
    unit_count : float
        Effective number of rows, or clusters.
    is_stepped : bool
        Whether a curve is constant between points.
    """

    kind: str
    features: tuple[str, ...]
    group: str
    grid: tuple[Array, ...]
    values: Matrix
    replicates: Array
    unit_count: float
    is_stepped: bool = False

    @classmethod
    def of_numbers(
        cls,
        kind: str,
        features: tuple[str, ...],
        numbers: Matrix,
        unit_count: float,
        *,
        group: str = "",
    ) -> ReplicatedStatistic:
        """Return a single number per output: (1 + n_replicates, n_outputs), the value first."""
        return cls(kind, features, group, (), numbers[:1], numbers[1:, None], unit_count)


def kept_repeats(resampling: Resampling) -> Resampling:
    """Return resampling whose replicates are kept."""
    return replace(resampling, repeat_count=resampling.repeat_count or KEPT_REPEATS, is_kept=True)
