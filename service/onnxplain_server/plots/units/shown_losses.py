"""Losses as people read them: of mean squared errors the roots, in the unit of predictions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.methods.losses import Loss, Measure
from onnxplain_server.plots.elements import loss_names
from onnxplain_server.plots.units.prediction_units import TOTAL, Units, in_units_of


@dataclass(frozen=True, slots=True)
class ShownLoss:
    """Loss of outputs, with its name and unit.

    Attributes
    ----------
    loss : Measure
    is_root : bool
        Whether roots of its values are shown.
    """

    loss: Measure
    is_root: bool

    @classmethod
    def of(cls, loss: Measure, outputs: Sequence[str], *, is_share: bool = False) -> ShownLoss:
        """Show the roots of squared errors, but for sums over outputs and for shares."""
        is_root = loss is Loss.SQUARED_ERROR and list(outputs) != [TOTAL] and not is_share
        return cls(loss, is_root)

    @property
    def name(self) -> str:
        """Name for use in a sentence: "root mean squared error"."""
        return "root " * self.is_root + loss_names.name(self.loss)

    @property
    def change(self) -> str:
        """Noun for getting worse: "increase of the root mean squared error"."""
        return loss_names.change(self.loss).replace(loss_names.name(self.loss), self.name)

    def heading(self, outputs: Sequence[str]) -> str:
        """Return the name as a title, with the output if there is only one."""
        text = loss_names.heading(self.loss, tuple(outputs))
        return f"Root {text[0].lower()}{text[1:]}" if self.is_root else text

    def unit(self, outputs: Sequence[str], units: Units) -> str:
        """Return the unit of its values."""
        if self.is_root:
            return units.of_values(outputs)
        return in_units_of(loss_names.unit(self.loss), outputs)

    def values(self, losses: Array) -> Array:
        """Return losses as they are shown; those of squared errors are never negative."""
        return np.sqrt(np.maximum(losses, 0.0)) if self.is_root else losses

    def errors(self, losses: Array, errors: Array) -> Array:
        """Return standard errors of what is shown, to first order: as `losses`."""
        if not self.is_root:
            return errors
        with np.errstate(all="ignore"):
            found: Array = errors / (2 * np.sqrt(losses))
        return np.where(losses > 0, found, np.nan)

    def increases(self, before: Vector, increases: Array) -> Array:
        """Return increases of what is shown from those of the loss: (n, n_outputs)."""
        return self.values(before + increases) - self.values(before) if self.is_root else increases

    def increase_errors(self, before: Vector, increases: Array, errors: Array) -> Array:
        """Return standard errors of increases, to first order."""
        return self.errors(before + increases, errors)
