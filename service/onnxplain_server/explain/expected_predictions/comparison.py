"""Result of comparing predictions: differences by output, the worst rows, and likely causes."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from onnxplain_server.core.arrays import Vector


class CauseKind(Enum):
    """Kind of a cause, as `LikelyCause.Kind` of the contract."""

    OUTPUT_ORDER = "OUTPUT_ORDER"
    FEATURE_ORDER = "FEATURE_ORDER"
    LINK = "LINK"
    CLASS_LABELS = "CLASS_LABELS"
    FACTOR_OR_CONSTANT = "FACTOR_OR_CONSTANT"
    THRESHOLD_ROUNDING = "THRESHOLD_ROUNDING"
    MISSING_VALUES = "MISSING_VALUES"
    UNKNOWN_CATEGORY = "UNKNOWN_CATEGORY"
    CONVERTER_FAULT = "CONVERTER_FAULT"


@dataclass(frozen=True, slots=True)
class LikelyCause:
    """A cause that explains differences, as in the contract.

    Attributes
    ----------
    kind : CauseKind
    message : str
    explained_row_count : int
        Rows among those tried that agree if the cause holds.
    tried_row_count : int
    """

    kind: CauseKind
    message: str
    explained_row_count: int
    tried_row_count: int


@dataclass(frozen=True, slots=True)
class OutputComparison:
    """Comparison of one output, as in the contract; differences in the unit of the output."""

    output_name: str
    expected_column: str
    largest_difference: float
    median_difference: float
    rounding: float
    differing_row_count: int


@dataclass(frozen=True, slots=True, eq=False)
class DifferingRow:
    """A row that differs: its number in the table as sent, and both predictions of each pair."""

    row_index: int
    expected: Vector
    predicted: Vector


@dataclass(frozen=True, slots=True, eq=False)
class PredictionComparison:
    """Comparison of a model with what its library predicted, as in the contract."""

    row_count: int
    differing_row_count: int
    outputs: tuple[OutputComparison, ...]
    differing_rows: tuple[DifferingRow, ...]
    likely_causes: tuple[LikelyCause, ...] = ()

    @property
    def agrees(self) -> bool:
        """Return whether no row differs."""
        return self.differing_row_count == 0
