"""Overview: the methods of a request that names none, sized by the work of its model.

By default, the size of the model tells it, so that equal requests get equal numbers. For a time
that the request asks for, the pace of the model is measured.

With a target: losses, permutation importance, and beside it Shapley values of some rows where they
are exact and cheap. Then interactions, and at last the curves of the
features that were most important. On trees, where grids cost little, the curves have one point per
step of the model, and the pair that interacts most gets a surface.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, cast

from onnxplain_server.core.arrays import Array
from onnxplain_server.core.contract_limits import PartialDependenceOptions
from onnxplain_server.core.model import Note
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.explain.planning.nominal_pace import effect_count, round_rows
from onnxplain_server.explain.planning.overview_part import OverviewRole, PaceSource, Part
from onnxplain_server.explain.row_counts import QUADRATIC_ROWS, SHUFFLED_ROWS
from onnxplain_server.methods import (
    attributions,
    average_loss,
    interactions,
    partial_dependence,
    permutation_importance,
)
from onnxplain_server.methods.comparison import Comparison
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.registry import Options, method_of
from onnxplain_server.plots.elements.labels import enumerate_words

CURVE_COUNT = 6
"""Features whose curves are computed."""
_WITH_TARGET = ("average_loss", "permutation_importance")
_ALWAYS = ("interactions", "partial_dependence")
"""Methods of an overview; interactions need two features, curves one that may have some."""
_FEWEST_ROWS = 30
"""Rows below which a method is left out."""
_GRID, _COARSE_GRID = PartialDependenceOptions.grid_size.default, 15
"""Points of a curve, and those of one that has little time."""
MOST_STEPS = 500
"""Points of a curve on trees, up to which each step of the model is one."""
SURFACE_GRID, MOST_CELLS = 900, 2_500
"""Points of a surface over numbers, and most points of one over categories."""
MOST_PREDICTIONS = 50_000_000
"""Rows times points of curves on trees, up to which there are steps, and a surface."""
_LOSS_COUNT = 3
"""Most losses that are computed."""
CurveOptions: TypeAlias = partial_dependence.Options
CURVES = CurveOptions(include_missing=True)
_EVEN, _STEPS = partial_dependence.Strategy.UNIFORM, partial_dependence.Strategy.STEPS
SHARES = {"losses": 0.05, "permutation_importance": 0.35, "interactions": 0.4, "curves": 0.2}
"""Shares of the budget."""
_VALUES_SHARE = 0.05
"""Share of the budget up to which Shapley values are cheap; they come on top of the others."""


@dataclass(frozen=True, slots=True, eq=False)
class OverviewPlan:
    """Rows and methods that fit into the budget of an overview.

    Attributes
    ----------
    names : tuple of str
        Features.
    row_count : int
        Rows of the table that count.
    requested_row_count : int or None
        Of the request.
    budget : float
        Seconds.
    pace : float
        Rows that the engine evaluates in a second.
    tree_rows : int or None
        Rows on which trees give interactions in their share of the budget; None for other models.
    pace_source : PaceSource
        What the pace and `tree_rows` follow from; rows are round numbers unless it is a
        measurement.
    predicted_row_limit : float
        Most rows to predict.
    single_texts : tuple of str
        Features most of whose rows have a text of their own, of which there is no curve.
    value_seconds : callable (int) -> float, or None
        Seconds of exact Shapley values on so many rows, with the background; None where there are
        none.
    """

    names: tuple[str, ...]
    row_count: int
    requested_row_count: int | None
    budget: float
    pace: float
    tree_rows: int | None
    pace_source: PaceSource = PaceSource.MEASURED
    predicted_row_limit: float = math.inf
    single_texts: tuple[str, ...] = ()
    value_seconds: Callable[[int], float] | None = None

    @property
    def drawn_names(self) -> tuple[str, ...]:
        """Features that may have a curve."""
        return tuple(name for name in self.names if name not in self.single_texts)

    def importances(self) -> Iterator[Part]:
        """Return permutation importance; shuffled once where there is no time for more."""
        usual = permutation_importance.Options()
        for options in (usual, replace(usual, repeat_count=1)):
            cost = 1 + len(self.names) * options.repeat_count
            rows = self._affordable("permutation_importance") // cost
            if self._is_enough(rows):
                part = self._shuffled(options, rows)
                count = options.repeat_count
                details = f" shuffled {count} times" if count > 1 else " shuffled once"
                is_reduced = part.is_reduced or options != usual
                yield replace(part, is_reduced=is_reduced, details=details)
                return

    def _shuffled(self, options: permutation_importance.Options, affordable: int) -> Part:
        """Take all rows of tables up to twice the usual rows, as the losses beside them do."""
        role, usual = OverviewRole.IMPORTANCES, SHUFFLED_ROWS
        is_larger = usual < self.row_count <= 2 * usual
        if is_larger and affordable >= self.row_count and self.requested_row_count is None:
            return Part(role, options, self.row_count, is_reduced=False)
        return self._sized(role, options, usual, affordable)

    def values(self) -> Iterator[Part]:
        """Return Shapley values of some rows, where they are exact and cheap."""
        options = attributions.Options()
        part = self._of_trees(OverviewRole.VALUES, options)
        count = part.rows(self.row_count)
        explained = min(options.explained_row_count, count)
        if self.value_seconds is None or len(self.names) < 2:
            return
        if self.value_seconds(count + explained) <= _VALUES_SHARE * self.budget:
            yield replace(part, details=f" for {explained} of them")

    def losses(self, *losses: Loss | None) -> Iterator[Part]:
        """Return average losses; None: the default one."""
        rows = self._affordable("losses", _LOSS_COUNT)
        for loss in losses if self._is_enough(rows) else ():
            options = average_loss.Options(Comparison(loss))
            yield self._sized(OverviewRole.LOSS, options, self.row_count, rows)

    def pairs(self) -> Iterator[Part]:
        """Return interactions, if there are features and rows enough."""
        options, rows = interactions.Options(), self._paired_rows()
        if len(self.names) < 2 or not self._is_enough(rows):
            return
        if self.tree_rows is None:
            yield self._sized(OverviewRole.PAIRS, options, QUADRATIC_ROWS, rows)
        else:
            yield self._of_trees(OverviewRole.PAIRS, options)

    def curves(
        self,
        features: Sequence[str],
        *,
        by_step: bool = False,
        surface: Mapping[str, Array] | None = None,
    ) -> Part | None:
        """Return curves of as many of these features, the first ones, as there is time for, if any.

        Parameters
        ----------
        by_step : bool
            Whether each step of the trees is a point.
        surface : mapping of feature to (n_points,) array, or None
            Grid of two features whose surface is drawn too, on trees.
        """
        if not features:
            return None
        if self.tree_rows is not None:
            singles = tuple((name,) for name in features)
            options = replace(CURVES, features=singles, strategy=_STEPS if by_step else _EVEN)
            if surface:
                grids = (*(None,) * len(singles), surface)
                options = replace(options, features=(*singles, tuple(surface)), grids=grids)
            return self._with_curves(self._of_trees(OverviewRole.CURVES, options), options)
        affordable = self._affordable("curves")
        sizes = [(len(features), grid) for grid in (_GRID, _COARSE_GRID)]
        sizes += [(count, _COARSE_GRID) for count in range(len(features) - 1, 0, -1)]
        for count, grid in sizes:
            rows = affordable // (count * (grid + 1))
            if self._is_enough(rows):
                singles = tuple((name,) for name in features[:count])
                options = replace(CURVES, features=singles, grid_size=grid)
                part = self._sized(OverviewRole.CURVES, options, QUADRATIC_ROWS, rows)
                is_reduced = part.is_reduced or (count, grid) != sizes[0]
                return replace(self._with_curves(part, options), is_reduced=is_reduced)
        return None

    @staticmethod
    def _with_curves(part: Part, options: CurveOptions) -> Part:
        """Tell the curves of a part in words."""
        count = sum(len(names) == 1 for names in options.features)
        is_stepped = options.strategy is _STEPS
        points = "all steps" if is_stepped else f"{options.grid_size} points"
        curves = "1 curve" if count == 1 else f"{count} curves"
        return replace(part, details=f" for {curves} of {points}")

    @property
    def curve_cost(self) -> int:
        """Upper bound of the rows to predict for the curves, and for the surface on trees."""
        part = self.curves(self.drawn_names[:CURVE_COUNT])
        if part is None:
            return 0
        is_tree, options = self.tree_rows is not None, cast("CurveOptions", part.options)
        rows = part.rows(self.row_count, None if is_tree else QUADRATIC_ROWS)
        count = len(options.features)
        cost = rows * count * (options.grid_size + 1)
        most = rows * (count * (MOST_STEPS + 1) + MOST_CELLS)
        return min(most, max(MOST_PREDICTIONS, cost)) if is_tree else cost

    def fits(self, point_count: int) -> bool:
        """Return whether curves on trees may have so many points in all."""
        rows = self._of_trees(OverviewRole.CURVES, CURVES).rows(self.row_count)
        return rows * point_count <= MOST_PREDICTIONS

    def notes(self, parts: Sequence[Part], *, has_target: bool) -> tuple[Note, ...]:
        """Tell what the budget made smaller, or left out."""
        names = {method_of(part.options).name for part in parts}
        always = _ALWAYS[len(self.names) < 2 : 1 + bool(self.drawn_names)]
        methods = (*(_WITH_TARGET if has_target else ()), *always)
        reduced = [
            f"{method_of(part.options).name} is on {part.words(self.row_count)}"
            for part in parts
            if part.is_reduced
        ]
        left_out = (f"{name} is left out" for name in methods if name not in names)
        changes = [*dict.fromkeys(reduced), *left_out]
        if not changes:
            return ()
        limit, field = "", "budget_seconds sets another time, by a measurement"
        if math.isfinite(self.predicted_row_limit):
            limit = f" and predict at most {self.predicted_row_limit:,.0f} rows"
            field += ", budget_predicted_row_count another number of rows"
        message = (
            f"To take about {self.budget:g} s{limit}, {enumerate_words(changes)}"
            f"{self._pace_words}. {field}; a request that names its methods has no limit of time "
            "by default."
        )
        return (Note(InputWarning.OVERVIEW_REDUCED, message),)

    @property
    def _pace_words(self) -> str:
        if self.tree_rows is None:
            return f": {self.pace_source.value} {self.pace:,.0f} rows/s"
        return "" if self._is_measured else ", by the size of the model"

    @property
    def _is_measured(self) -> bool:
        return self.pace_source is PaceSource.MEASURED

    def _affordable(self, share: str, count: int = 1) -> int:
        """Return the rows that can be predicted in a share of the budget, `count` times."""
        in_time = self.pace * self.budget * SHARES[share]
        limited = self.predicted_row_limit * SHARES[share] / count
        return int(min(in_time, limited, 1e15))

    def _is_enough(self, affordable: int) -> bool:
        """Return whether a method has rows enough to be worth its time."""
        few = min(_FEWEST_ROWS, self.row_count)
        return affordable >= few or self.requested_row_count is not None

    def _paired_rows(self) -> int:
        """Return the rows on which interactions take their share of the budget."""
        if self.tree_rows is not None:
            return self.tree_rows
        # Each effect is predicted on all pairs of rows.
        return math.isqrt(self._affordable("interactions") // effect_count(len(self.names)))

    def _of_trees(self, role: OverviewRole, options: Options) -> Part:
        """Size a method on trees, which take all rows by default."""
        rows = max(self.tree_rows or 0, _FEWEST_ROWS)
        if self.requested_row_count is not None or rows >= self.row_count:
            return Part(role, options, self.requested_row_count, is_reduced=False)
        return Part(role, options, self._rounded(rows), is_reduced=True)

    def _sized(self, role: OverviewRole, options: Options, usual: int, affordable: int) -> Part:
        """Take the rows requested, or else the usual ones as far as the budget reaches."""
        if self.requested_row_count is not None:
            return Part(role, options, self.requested_row_count, is_reduced=False)
        if affordable >= min(usual, self.row_count):
            return Part(role, options, None, is_reduced=False)
        return Part(role, options, self._rounded(affordable), is_reduced=True)

    def _rounded(self, rows: int) -> int:
        return rows if self._is_measured else round_rows(rows)
