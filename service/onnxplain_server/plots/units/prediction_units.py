"""Units of predictions: of the target, or probabilities, with sizes in percentage points."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from onnxplain_server.methods.losses import Loss
from onnxplain_server.plots.elements.labels import clean, shorten

TOTAL = "total"
"""Name of the only output of a loss that all outputs share."""
_PERCENT = 100.0
_OF_PROBABILITIES = frozenset({Loss.LOGLOSS, Loss.MLOGLOSS})
"""Losses that compare probabilities."""


@dataclass(frozen=True, slots=True)
class Units:
    """Units of the predictions of an answer.

    Attributes
    ----------
    are_probabilities : bool
        Whether predictions are known to be probabilities of classes.
    """

    are_probabilities: bool = False

    @property
    def size_factor(self) -> float:
        """Factor that writes a size of effects in its unit."""
        return _PERCENT if self.are_probabilities else 1.0

    def of_sizes(self, outputs: Sequence[str], *, in_brackets: bool = False) -> str:
        """Return the unit of sizes of effects: "units of price", or "percentage points".

        Parameters
        ----------
        in_brackets : bool
            Whether units of a target are told in brackets, as after the number of a sentence.
        """
        if self.are_probabilities:
            return "percentage points"
        return f"({self.of_values(outputs)})" if in_brackets else self.of_values(outputs)

    def of_values(self, outputs: Sequence[str]) -> str:
        """Return the unit of predictions: "units of price", or "probability of ill"."""
        if not self.are_probabilities:
            return f"units of {unit_of(outputs)}"
        return f"probability of {unit_of(outputs)}" if len(outputs) == 1 else "probability"


TARGET_UNITS = Units()
"""Units of predictions that are not known to be probabilities."""


class OutputNames(tuple[str, ...]):
    """Names of outputs in plots, which know the units of predictions."""

    units = TARGET_UNITS

    @classmethod
    def of(cls, names: Iterable[str], units: Units) -> OutputNames:
        """Return names with their units."""
        named = cls(names)
        named.units = units
        return named


def units_of(outputs: Sequence[str]) -> Units:
    """Return the units that names of outputs know."""
    return outputs.units if isinstance(outputs, OutputNames) else TARGET_UNITS


def value_unit(outputs: Sequence[str]) -> str:
    """Return the unit of predictions by the names of outputs: "units of price"."""
    return units_of(outputs).of_values(outputs)


def unit_of(outputs: Sequence[str]) -> str:
    """Return the name of the predictions in a unit: "price", or "the output" for several."""
    is_one = len(outputs) == 1 and outputs[0] != TOTAL
    return shorten(clean(outputs[0]), 24) if is_one else "the output"


def in_units_of(unit: str, outputs: Sequence[str]) -> str:
    """Write a unit like "squared units of the output" with the name of the only output."""
    return unit.replace("the output", unit_of(outputs))


def are_probabilities(
    *, are_classes: bool, is_response: bool, has_link: bool, losses: Iterable[Loss | None]
) -> bool:
    """Tell whether outputs are known to be probabilities.

    Parameters
    ----------
    are_classes : bool
        Whether they score classes.
    is_response : bool
        Whether they are what the model answers, before any expression.
    has_link : bool
        Whether a logistic or softmax makes them, which has a margin before it.
    losses : iterable of losses
        Those of log loss are chosen for outputs within 0 and 1.
    """
    return is_response and are_classes and (has_link or any(x in _OF_PROBABILITIES for x in losses))
