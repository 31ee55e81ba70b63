"""Results of `Interactions`: statistics of Friedman and Popescu."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from onnxplain.results.origins import ClassPairing, Conclusion, RowsUsed
from onnxplain.results.plots import Plot
from onnxplain.results.reading import nan_if_empty, read
from onnxplain.results.tabular import Tabular, joined, parts, read_result, to_rows
from onnxplain.v1 import explanation_service_pb2, interactions_pb2
from onnxplain.v1.interactions_pb2 import InteractionsOptions

_SCHEMA = pa.schema(
    [
        ("statistic", pa.string()),
        ("features", pa.string()),
        ("feature_1", pa.string()),
        ("feature_2", pa.string()),
        ("feature_3", pa.string()),
        ("output", pa.string()),
        ("numerator", pa.float64()),
        ("denominator", pa.float64()),
        ("value", pa.float64()),
        ("standard_error", pa.float64()),
        ("lower", pa.float64()),
        ("upper", pa.float64()),
        ("bias", pa.float64()),
        ("p_value", pa.float64()),
        ("numerator_error", pa.float64()),
    ]
)
_MOST_FEATURES = 3
_NUMBERS = (
    "numerators", "denominators", "values",
    "standard_errors", "lower", "upper", "biases", "p_values", "numerator_errors",
)  # fmt: skip
"""Arrays of a statistic, in the order of the schema; the first three are never empty."""


@dataclass(frozen=True, slots=True, eq=False)
class InteractionStatistic:
    """Statistic of some features, kept as the two parts of its ratio.

    Attributes
    ----------
    features : tuple of str
        Empty for the total.
    numerators : (n_outputs,)
        Mean squares of the interaction; squared unit of the output.
    denominators : (n_outputs,)
        Mean squares of the whole effect, likewise.
    values : (n_outputs,)
        Numerator over denominator; unstable where the denominator is small.
    standard_errors, lower, upper, biases : (n_outputs,)
        Of the values, from resampling the rows: how far each would move with other rows, the
        ends of its confidence interval, and by how much it is too large on average. NaN where
        rows were not resampled.
    p_values : (n_outputs,)
        How often the term would explain the target as well by chance. NaN without a
        test.
    numerator_errors : (n_outputs,)
        Estimated error of the numerators from interpolation between knots; NaN where none was.
    """

    features: tuple[str, ...]
    numerators: npt.NDArray[np.float64]
    denominators: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]
    standard_errors: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]
    biases: npt.NDArray[np.float64]
    p_values: npt.NDArray[np.float64]
    numerator_errors: npt.NDArray[np.float64]

    @classmethod
    def from_message(cls, message: interactions_pb2.InteractionStatistic) -> InteractionStatistic:
        """Read the message of the contract."""
        return read(cls, message, **nan_if_empty(message, *_NUMBERS[3:]))


@dataclass(frozen=True, slots=True, eq=False)
class InteractionsResult(Tabular):
    """Interaction statistics; lists are in table order.

    Attributes
    ----------
    output_names : tuple of str
        The explained outputs, in the order of every array here.
    mean_squares : (n_outputs,)
        Mean squares of the centred predictions; squared unit of the output.
    total : InteractionStatistic
        H²: share of the predictions' variability that comes from interactions.
    overall : tuple of InteractionStatistic
        H²_j: share that comes from interactions of one feature with all others.
    pairwise, threeway : tuple of InteractionStatistic
        H²_jk and H²_jkl: share of a joint effect that is interaction.
    importance : tuple of InteractionStatistic
        Share of the variability that the other features alone do not explain.
    confidence_level : float
        Of the intervals; 0 where rows were not resampled.
    plots : tuple of Plot
    options : InteractionsOptions
        The message with every default filled in.
    rows : RowsUsed or None
        The rows of the table that the numbers are computed on.
    message : InteractionsResult
        As the server sent it.
    class_pairings : tuple of ClassPairing
        Classes of the target, and the outputs they were compared with; empty without classes.
    conclusions : tuple of Conclusion
        What also holds in the replicates of the rows; empty without these.

    Examples
    --------
    >>> frame = explanations.interactions.to_pandas()
    >>> frame[frame.statistic == "pairwise"].sort_values("numerator", ascending=False)
    """

    output_names: tuple[str, ...]
    mean_squares: npt.NDArray[np.float64]
    total: InteractionStatistic
    overall: tuple[InteractionStatistic, ...]
    pairwise: tuple[InteractionStatistic, ...]
    threeway: tuple[InteractionStatistic, ...]
    importance: tuple[InteractionStatistic, ...]
    confidence_level: float
    plots: tuple[Plot, ...]
    options: InteractionsOptions
    rows: RowsUsed | None
    message: interactions_pb2.InteractionsResult = field(repr=False)
    class_pairings: tuple[ClassPairing, ...] = ()
    conclusions: tuple[Conclusion, ...] = ()

    @classmethod
    def from_message(cls, message: explanation_service_pb2.Explanation) -> InteractionsResult:
        """Read the message of the contract."""
        result = message.interactions
        return read_result(
            cls,
            message,
            total=InteractionStatistic.from_message(result.total),
            overall=_statistics(result.overall),
            pairwise=_statistics(result.pairwise),
            threeway=_statistics(result.threeway),
            importance=_statistics(result.importance),
        )

    def to_arrow(self) -> pa.Table:
        """Return one row per statistic and output.

        Returns
        -------
        pyarrow.Table
            Columns `statistic` ("total", "overall", ...), `features` ("age × bmi"; empty for the
            total), the same one by one as `feature_1` to `feature_3`, `output`, `numerator`,
            `denominator`, `value`, `standard_error`, `lower`, `upper`, `bias`, `p_value`,
            `numerator_error`.
        """
        return to_rows(self._rows(), _SCHEMA)

    def _rows(self) -> Iterator[tuple[Any, ...]]:
        for name in ("total", "overall", "pairwise", "threeway", "importance"):
            statistics = (self.total,) if name == "total" else getattr(self, name)
            for statistic in statistics:
                numbers = (getattr(statistic, number) for number in _NUMBERS)
                for output, *row in zip(self.output_names, *numbers, strict=True):
                    own = statistic.features
                    yield (name, joined(own), *parts(own, _MOST_FEATURES), output, *row)


def _statistics(
    messages: Sequence[interactions_pb2.InteractionStatistic],
) -> tuple[InteractionStatistic, ...]:
    return tuple(InteractionStatistic.from_message(message) for message in messages)
