"""Measured mean squares as statistics in table order, with notes on those set to 0."""

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
    """What was measured, as statistics in table order."""

    def __init__(self, effects: Effects, options: Options, measure: WeightedMeasurement) -> None:
        self._names = effects.background.features.names
        self._nothing = np.zeros(len(effects.output_names))
        self._resampling = options.resampling
        self._row_count = effective_row_count(effects.background.weights)
        self._is_tested = options.permutation_count > 0
        self._measure = measure

    def all(self, order: str, size: int) -> tuple[Statistic, ...]:
        """List the statistics of so many features each."""
        shown = self._measure.shown(order)
        return tuple(self.one(order, group) for group in combinations(shown, size))

    def below_threshold(self, absolute: float | None) -> tuple[Note, ...]:
        """Name the terms that the threshold has set to 0, though they are not negligible."""
        cut = self._measure.clipped
        if not cut:
            return ()
        terms = dict.fromkeys(
            _term(order, tuple(self._names[j] for j in group)) for order, group in cut
        )
        message = (
            f"{', '.join(list(terms)[:_NAMED])}{' and others' * (len(terms) > _NAMED)}: told as 0, "
            f"but up to {max(cut.values()):.2g} of the mean square of the predictions. "
            + (_ROUNDED if absolute is None else _ASKED)
        )
        return (Note("BELOW_THRESHOLD", message),)

    def one(self, order: str, group: tuple[int, ...]) -> Statistic:
        """Present one; what was not measured, because it pads a list, is 0 of 1."""
        names = tuple(self._names[j] for j in group)
        found = self._measure.parts.get((order, group))
        if found is None:
            nothing = self._nothing
            p_values = nothing + 1 if self._is_tested else None
            errors = None if self._measure.parts["total", ()][0].errors is None else nothing
            return Statistic(names, nothing, nothing + 1, None, p_values, errors)
        numerators = np.concatenate([np.atleast_2d(part.numerators) for part in found])
        denominators = np.concatenate([np.atleast_2d(part.denominators) for part in found])
        values = ratio(numerators, denominators)
        told = self._spread(values) if len(values) > 1 else None
        p_values = self._measure.p_values(order, group)
        return Statistic(names, numerators[0], denominators[0], told, p_values, found[0].errors)

    def _spread(self, values: Matrix) -> ReplicateSpread:
        return spread(self._resampling, values[0], values[1:], self._row_count)


_NAMED = 8
_ROUNDED = (
    "They are below what rounding of predictions as large as these can bring about, so that they "
    "may be nothing or something. Export the model in float64, or without the large number that "
    "all its predictions contain; absolute_threshold sets another threshold."
)
_ASKED = "They are below absolute_threshold; lower it, or leave it out."


def _term(order: str, names: tuple[str, ...]) -> str:
    """Name a statistic."""
    if order == "total":
        return "total"
    return f"{order} {' × '.join(map(repr, names))}"
