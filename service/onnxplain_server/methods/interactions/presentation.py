"""Interaction statistics in table order, from mean squares; notes on those set to 0."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.core.warnings import MethodWarning
from onnxplain_server.methods.interactions.doubt_notes import out_of_range_note, weak_effects_note
from onnxplain_server.methods.interactions.options import Options
from onnxplain_server.methods.interactions.result import Result, Statistic, ratio
from onnxplain_server.methods.interactions.strength import RatioParts
from onnxplain_server.methods.resampling import (
    Conclusion,
    ReplicatedStatistic,
    Replicates,
    ReplicateSpread,
    Scheme,
    Sizes,
    allow_for_chance,
    chance_shares,
    ranks,
    spread,
    strongest,
)


class Measurement(Protocol):
    """Measured statistics: of all rows in memory, or of blocks; see `WeightedMeasurement`."""

    @property
    def parts(self) -> Mapping[tuple[str, tuple[int, ...]], Sequence[RatioParts]]:
        """One entry per set of weights, by order and features."""

    @property
    def clipped(self) -> Mapping[tuple[str, tuple[int, ...]], float]:
        """Shares of terms that are set to 0 though not negligible."""

    def groups(self, order: str) -> Sequence[tuple[int, ...]]:
        """Return the features, pairs or triples to list."""

    def p_values(self, order: str, group: tuple[int, ...]) -> Vector | None:
        """Return the p-values of a term; None without a test."""


class Presentation:
    """Builder of statistics, in table order, from measurements.

    Parameters
    ----------
    names : sequence of str
        Features of the model.
    output_names : tuple of str
    options : Options
    measure : Measurement
    row_count : float
        Effective number of rows, for the spread of replicates.
    spans : (n_outputs,)
        Largest less smallest prediction; 0 where it is not known.
    replicates : Replicates, optional
        Which the measurement has beside the sample.
    """

    def __init__(
        self,
        names: Sequence[str],
        output_names: tuple[str, ...],
        options: Options,
        measure: Measurement,
        row_count: float,
        *,
        spans: Vector,
        replicates: Replicates | None = None,
    ) -> None:
        self._names = names
        self._output_names = output_names
        self._options = options
        self._zeros = np.zeros(len(output_names))
        self._resampling = options.resampling
        self._replicates = replicates
        self._row_count = row_count
        self._spans = spans
        self._is_tested = options.permutation_count > 0
        self._measure = measure
        self._chance: dict[tuple[str, ...], float] = {}

    def result(self) -> Result:
        """Return the statistics of all orders."""
        total = self.statistic("total", ())
        overall, pairwise, threeway, importance = (self.statistics(order) for order in _ORDERS)
        every = (total, *overall, *pairwise, *threeway, *importance)
        parts = np.array([part for one in every for part in (one.numerators, one.denominators)])
        notes = (
            *out_of_range_note(self._output_names, total.denominators, self._spans, parts),
            *self.below_threshold(self._options.absolute_threshold),
        )
        return Result(
            self._output_names,
            total.denominators,
            total,
            overall,
            pairwise,
            threeway,
            importance,
            self._resampling,
            (*notes, *weak_effects_note(self._chance)),
            tuple(self._conclusions()),
            tuple(self._kept()) if self._resampling.is_kept else (),
        )

    def _kept(self) -> Iterator[ReplicatedStatistic]:
        """Yield the statistics, as shares and as mean squares; 0 of terms known to be none."""
        parts = self._measure.parts
        count = sum(len(np.atleast_2d(part.numerators)) for part in parts["total", ()])
        for order, kind in _KINDS.items():
            for group in ((),) if order == "total" else self._measure.groups(order):
                squares = shares = np.zeros((count, len(self._output_names)))
                if measured := parts.get((order, group)):
                    squares = np.concatenate([np.atleast_2d(part.numerators) for part in measured])
                    wholes = [np.atleast_2d(part.denominators) for part in measured]
                    shares = ratio(squares, np.concatenate(wholes))
                names = tuple(self._names[j] for j in group)
                for own, numbers in ((kind, shares), (f"{kind}_SQUARE", squares)):
                    yield ReplicatedStatistic.of_numbers(own, names, numbers, self._row_count)

    def _conclusions(self) -> Iterator[Conclusion]:
        """Yield the ranks of features, and the strongest pair, with the replicates that agree."""
        if self._replicates is None or self._resampling.scheme is not Scheme.BOOTSTRAP:
            return  # replicates of the jackknife are too close to all rows to tell of chance
        importance, pairs = self._sizes("importance"), self._sizes("pairwise")
        if importance is not None:
            yield from ranks(importance, self._resampling.confidence_level, self._row_count)
        if pairs is not None:
            yield from strongest(pairs)

    def _sizes(self, order: str) -> Sizes | None:
        """Return the sizes of an order's effects that were measured, in the output's unit."""
        parts = self._measure.parts
        groups = [group for group in self._measure.groups(order) if (order, group) in parts]
        if not groups:
            return None
        squares = [
            np.concatenate([np.atleast_2d(part.numerators) for part in parts[order, group]])
            for group in groups
        ]
        sizes = np.sqrt(np.stack(squares, axis=1))
        names = [tuple(self._names[j] for j in group) for group in groups]
        return Sizes(names, sizes[0], sizes[1:], self._output_names)

    def statistics(self, order: str) -> tuple[Statistic, ...]:
        """Return the statistics of an order."""
        return tuple(self.statistic(order, group) for group in self._measure.groups(order))

    def below_threshold(self, absolute: float | None) -> tuple[Note, ...]:
        """Warn of terms that the threshold has set to 0 although they are not negligible."""
        clipped = self._measure.clipped
        if not clipped:
            return ()
        terms = dict.fromkeys(
            _term(order, tuple(self._names[j] for j in group)) for order, group in clipped
        )
        message = (
            f"{', '.join(list(terms)[:_MAX_LISTED])}{' and others' * (len(terms) > _MAX_LISTED)}: "
            f"reported as 0, but up to {max(clipped.values()):.2g} of the mean square of the "
            "predictions. " + (_ROUNDED if absolute is None else _BY_OPTION)
        )
        return (Note(MethodWarning.BELOW_THRESHOLD, message),)

    def statistic(self, order: str, group: tuple[int, ...]) -> Statistic:
        """Return one statistic; 0 / 1 if it pads a list and was not measured."""
        names = tuple(self._names[j] for j in group)
        measured = self._measure.parts.get((order, group))
        if measured is None:
            zeros = self._zeros
            p_values = zeros + 1 if self._is_tested else None
            errors = None if self._measure.parts["total", ()][0].errors is None else zeros
            return Statistic(names, zeros, zeros + 1, None, p_values, errors)
        numerators = np.concatenate([np.atleast_2d(part.numerators) for part in measured])
        denominators = np.concatenate([np.atleast_2d(part.denominators) for part in measured])
        p_values = self._measure.p_values(order, group)
        return Statistic(
            names,
            numerators[0],
            denominators[0],
            self._spread(names, numerators, denominators),
            p_values,
            measured[0].errors,
            self._numerator_spread(numerators),
        )

    def _numerator_spread(self, numerators: Matrix) -> ReplicateSpread | None:
        """Estimate the spread of a mean square from its value and those of the replicates."""
        if self._replicates is None:
            return None
        omitted = self._replicates.omitted
        return spread(self._resampling, numerators[0], numerators[1:], omitted, self._row_count)

    def _spread(
        self, names: tuple[str, ...], numerators: Matrix, denominators: Matrix
    ) -> ReplicateSpread | None:
        """Estimate the spread of a statistic from its value and those of the replicates."""
        if self._replicates is None:
            return None
        omitted, resampling = self._replicates.omitted, self._resampling
        values = ratio(numerators, denominators)
        usual = spread(resampling, values[0], values[1:], omitted, self._row_count)
        if len(names) < 2:  # the denominator is the mean square of predictions, not of an effect
            return usual
        squares = denominators[0], denominators[1:]
        shares = chance_shares(resampling, *squares, omitted)
        if not shares.any():
            return usual
        self._chance[names] = float(shares.max())
        below = spread(resampling, *squares, omitted, self._row_count)
        return allow_for_chance(usual, numerators[0], below, shares)


_ORDERS = ("overall", "pairwise", "threeway", "importance")
"""Orders of statistics, as the result has them."""
_KINDS = {
    **{order: f"{order.upper()}_INTERACTION" for order in ("total", *_ORDERS[:3])},
    "importance": "IMPORTANCE",
}
"""Kinds of kept statistics, as shares, by order."""
_MAX_LISTED = 8
_ROUNDED = (
    "They are below the possible rounding error of predictions of this size, so they may or may "
    "not be real. Export the model in float64, or without the large constant in all its "
    "predictions; absolute_threshold sets another threshold."
)
_BY_OPTION = "They are below absolute_threshold; lower it, or leave it out."


def _term(order: str, names: tuple[str, ...]) -> str:
    """Return the display name of a statistic."""
    if order == "total":
        return "total"
    return f"{order} {' × '.join(map(repr, names))}"
