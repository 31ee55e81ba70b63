"""Support of the curves of a request: measured, told in a warning, and what grids are cut by."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note
from onnxplain_server.core.number_texts import share_text
from onnxplain_server.core.table import listed
from onnxplain_server.core.warnings import MethodWarning
from onnxplain_server.effects.grids import weights_near
from onnxplain_server.effects.support.pair_support import HybridSource
from onnxplain_server.effects.support.table_support import TableSupport, support_row_count
from onnxplain_server.explain.task import Task
from onnxplain_server.methods.groups import Grouping
from onnxplain_server.methods.partial_dependence import (
    Options,
    PartialDependenceCurve,
    Result,
    RowGroup,
    Strategy,
)
from onnxplain_server.plots.claims.support import TOLD_OUTSIDE

_MOST_TOLD = 5

Sources = Mapping[str, HybridSource]
"""Rows that the points of curves are combined with, by their group."""


class SupportOfCurves:
    """Support of the curves of one method of a request.

    Parameters
    ----------
    task : Task
    options : Options
        Resolved.
    """

    def __init__(self, task: Task, options: Options) -> None:
        sample = task.sample
        rows = sample.draw_few(sample.rows, support_row_count(len(sample.features.names)))
        self._table, self._features = sample.table, sample.features
        self._rows, self._weights = rows, sample.weights[rows]
        self._options, self._path = options, f"{task.path}.max_outside_share"
        self._groups: dict[str, Array] = {}
        self._support = TableSupport(sample.features, rows, self._weights, task.effects)

    def cut(self, points: Sequence[tuple[Array, ...]]) -> list[tuple[Array, ...]]:
        """Leave out points with more than `max_outside_share` of the rows outside.

        Raises
        ------
        ExplainError
            INVALID_OPTION where no point remains, nothing is known of support, or points are
            steps.
        """
        most = self._options.max_outside_share
        if most >= 1:
            return list(points)
        if self._options.strategy is Strategy.STEPS:
            raise self._refusal(
                "a point of STEPS stands for all values up to the next one, so none can be left "
                "out; use UNIFORM or QUANTILE, or leave max_outside_share out"
            )
        if not self._support.is_known:
            raise self._refusal(
                f"the table has {len(self._rows)} rows, too few to tell which combinations of "
                "values it lacks; leave max_outside_share out"
            )
        return [self._cut_one(i, grid, most) for i, grid in enumerate(points)]

    def _cut_one(self, entry: int, grid: tuple[Array, ...], most: float) -> tuple[Array, ...]:
        names, is_laid = self._options.features[entry], self._options.grids[entry] is None
        own = self._support.own_rows()
        shares = self._support.outside_shares(names, grid, own, is_laid=is_laid)
        if (shares <= most).any():
            return tuple(axis[shares <= most] for axis in grid)
        raise self._refusal(
            f"each point of {listed(names)} has more than {most:g} of the rows outside the "
            f"support of the table, the best one {shares.min():.3g}; raise max_outside_share, or "
            "leave these features out"
        )

    def _refusal(self, message: str) -> ExplainError:
        return ExplainError(Reason.INVALID_OPTION, message, self._path)

    def sources_of(self, groups: Iterable[RowGroup]) -> Sources:
        """Take the rows of a method, in memory."""
        return {g.group: self._support.source(g.rows.features, g.rows.weights) for g in groups}

    def sampled_sources(self, column: str, grouping: Grouping | None) -> Sources:
        """Take sampled rows of a table in blocks; no group that has none of them."""
        if grouping is None:
            return {"": self._support.own_rows()}
        codes = grouping.codes(self._table.column(column, "")[self._rows])
        self._groups = {
            label: codes == k for k, label in enumerate(grouping.labels) if (codes == k).any()
        }
        return {
            label: self._support.source(self._features.take(self._rows[own]), self._weights[own])
            for label, own in self._groups.items()
        }

    def told(self, result: Result, sources: Sources) -> Result:
        """Return curves with their support, and a warning of those that lack most."""
        if not self._support.is_known:
            return result
        count = len(result.curves) // len(self._options.features)
        curves = tuple(
            self._with_support(curve, sources.get(curve.group), place // count)
            for place, curve in enumerate(result.curves)
        )
        return replace(result, curves=curves, notes=(*result.notes, *_notes(curves)))

    def _with_support(
        self, curve: PartialDependenceCurve, source: HybridSource | None, entry: int
    ) -> PartialDependenceCurve:
        if source is None:
            return curve
        is_laid, near = self._options.grids[entry] is None, curve.row_weights
        if near is None or not np.isfinite(near.sum()):
            near = self._near(curve)
        measured = self._support.of_curve(curve.features, curve.grid, source, near, is_laid=is_laid)
        return replace(curve, **measured._asdict())

    def _near(self, curve: PartialDependenceCurve) -> Vector:
        """Weigh points by the rows of the group that support is told from."""
        own = self._groups.get(curve.group, slice(None))
        some = self._features.take(self._rows[own])
        columns = [some.columns[some.index(name)] for name in curve.features]
        return weights_near(curve.grid, columns, self._weights[own], is_stepped=curve.is_stepped)


def _notes(curves: Sequence[PartialDependenceCurve]) -> Iterator[Note]:
    """Name the features with the largest shares outside, of their groups' largest."""
    largest: dict[tuple[str, ...], PartialDependenceCurve] = {}
    for curve in curves:
        if (curve.outside_share or 0) > TOLD_OUTSIDE:
            other = largest.setdefault(curve.features, curve)
            if (curve.outside_share or 0) > (other.outside_share or 0):
                largest[curve.features] = curve
    if not largest:
        return
    ranked = sorted(largest.values(), key=lambda curve: -(curve.outside_share or 0))
    parts = [_part(curve, is_first=at == 0) for at, curve in enumerate(ranked[:_MOST_TOLD])]
    more = len(ranked) - len(parts)
    parts += [f"{more} more curves"] if more > 1 else [f"{more} more curve"] * more
    message = (
        "Moved along these curves, rows get combinations of values that the table lacks: "
        f"{'; '.join(parts)}. No row tells whether the model is right about such rows."
    )
    yield Note(MethodWarning.CURVES_EXTRAPOLATE, message)


def _part(curve: PartialDependenceCurve, *, is_first: bool) -> str:
    """Write the share of one curve: "31% of them along 'x', mostly beside 'y'"."""
    group = f" in group {curve.group!r}" if curve.group else ""
    beside = f", mostly beside {curve.outside_partner!r}" if curve.outside_partner else ""
    names = " × ".join(map(repr, curve.features))
    share = share_text(curve.outside_share or 0)
    return f"{share}{' of them' * is_first} along {names}{group}{beside}"
