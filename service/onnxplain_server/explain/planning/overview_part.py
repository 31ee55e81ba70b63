"""Parts of an overview: methods with their rows, further losses, features without a curve."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from onnxplain_server.core.columns import has_single_texts
from onnxplain_server.core.rows import Features
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.methods import average_loss
from onnxplain_server.methods.losses import Loss
from onnxplain_server.methods.registry import Options


class OverviewRole(Enum):
    """OverviewRole of a method in an overview."""

    LOSS = "loss of all rows"
    IMPORTANCES = "importances by shuffling"
    VALUES = "Shapley values of some rows"
    PAIRS = "interactions"
    CURVES = "curves of the most important features"


class PaceSource(Enum):
    """Source of a pace, in the words of the warning."""

    MEASURED = "the model predicts"
    SIZE = "a model of this size is taken to predict"
    ADDRESS = "a model behind an address is taken to predict"


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A method of the overview.

    Attributes
    ----------
    role : OverviewRole
    options : Options
    row_count : int or None
        `row_count` of its request; None for the default of the method.
    is_reduced : bool
        Whether the budget made it smaller.
    details : str
        Its repetitions or curves, in words.
    """

    role: OverviewRole
    options: Options
    row_count: int | None
    is_reduced: bool
    details: str = ""

    def rows(self, row_count: int, default: int | None = None) -> int:
        """Return its rows of so many that count; `default` is that of its method, None: all."""
        own = default if self.row_count is None else self.row_count
        return row_count if own is None else min(own, row_count)

    def words(self, row_count: int) -> str:
        """Tell its rows, of so many that count, with its repetitions or curves."""
        return f"{self.rows(row_count):,} rows{self.details}"


def single_texts(features: Features) -> tuple[str, ...]:
    """Return the features most of whose rows have a text of their own."""
    columns = zip(features.names, features.columns, strict=True)
    return tuple(name for name, column in columns if has_single_texts(column))


def further_losses(default: average_loss.Options, request: BoundRequest) -> tuple[Loss, ...]:
    """Return the losses and scores beside the default one, by what the target is."""
    if not default.comparison.one_hot_target:
        return (Loss.ABSOLUTE_ERROR,)
    explained, every = request.outputs.explained, request.outputs.names
    by_label = (Loss.ACCURACY,) if len(explained) in {1, len(every)} else ()
    return tuple(loss for loss in (Loss.AUC, *by_label) if loss is not default.comparison.loss)
