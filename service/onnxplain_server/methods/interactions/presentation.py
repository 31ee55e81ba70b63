"""Interaction statistics in table order, from mean squares; notes on those set to 0."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from onnxplain_server.core.arrays import Matrix
from onnxplain_server.core.model import Note
from onnxplain_server.effects.engine import Effects
from onnxplain_server.methods.interactions.options import Options
from onnxplain_server.methods.interactions.result import Statistic, ratio
from onnxplain_server.methods.interactions.weighted_measurement import WeightedMeasurement
from onnxplain_server.methods.resampling import ReplicateSpread, effective_row_count, spread


class Presentation:
    """Builder of statistics, in table order, from measurements."""

    def __init__(self, effects: Effects, options: Options, measure: WeightedMeasurement) -> None:
        self._names = effects.background.features.names
        self._zeros = np.zeros(len(effects.output_names))
        self._resampling = options.resampling
        self._row_count = effective_row_count(effects.background.weights)
        self._is_tested = options.permutation_count > 0
        self._measure = measure

    def statistics(self, order: str, size: int) -> tuple[Statistic, ...]:
        """Return the statistics of an order, of `size` features each."""
        shown = self._measure.shown(order)
        return tuple(self.statistic(order, group) for group in combinations(shown, size))

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
        return (Note("BELOW_THRESHOLD", message),)

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
        values = ratio(numerators, denominators)
        own_spread = self._spread(values) if len(values) > 1 else None
        p_values = self._measure.p_values(order, group)
        return Statistic(
            names, numerators[0], denominators[0], own_spread, p_values, measured[0].errors
        )

    def _spread(self, values: Matrix) -> ReplicateSpread:
        return spread(self._resampling, values[0], values[1:], self._row_count)


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
