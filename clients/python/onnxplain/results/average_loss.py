"""Results of `AverageLoss`: one loss per group and output."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from onnxplain.results.origins import ClassPairing, RowsUsed
from onnxplain.results.plots import Plot
from onnxplain.results.reading import read
from onnxplain.results.tabular import Tabular, read_result, to_rows
from onnxplain.v1 import average_loss_pb2, explanation_service_pb2
from onnxplain.v1.average_loss_pb2 import AverageLossOptions

_SCHEMA = pa.schema(
    [
        ("group", pa.string()),
        ("output", pa.string()),
        ("value", pa.float64()),
        ("weight", pa.float64()),
        ("standard_error", pa.float64()),
        ("lower", pa.float64()),
        ("upper", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class GroupLoss:
    """Average loss of a group of rows.

    Attributes
    ----------
    group : str
        The group of rows averaged over; empty where rows are not grouped.
    values : (n_outputs,)
    weight : float
        Total weight of the rows; their number if no weights are given.
    standard_errors, lower, upper : (n_outputs,)
        Spread over replicates of the rows; (0,) without these.
    """

    group: str
    values: npt.NDArray[np.float64]
    weight: float
    standard_errors: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]

    @classmethod
    def from_message(cls, message: average_loss_pb2.AverageLoss) -> GroupLoss:
        """Read the message of the contract."""
        return read(cls, message)


@dataclass(frozen=True, slots=True, eq=False)
class AverageLossResult(Tabular):
    """Average losses: distance of predictions from true values.

    Attributes
    ----------
    output_names : tuple of str
        Names of the outputs, in the order of every array here; ("total",) where losses are
        summed over outputs.
    losses : tuple of GroupLoss
        One per group, by ascending value of the group column; one where rows are not grouped.
    constant_losses : (n_outputs,)
        Of the best constant prediction on all rows used; empty where it is not known.
    confidence_level : float
        Of the intervals; 0 without replicates.
    plots : tuple of Plot
    options : AverageLossOptions
        The message with every default filled in.
    rows : RowsUsed or None
        The rows of the table that the numbers are computed on.
    message : AverageLossResult
        As the server sent it.
    class_pairings : tuple of ClassPairing
        Classes of the target, and the outputs they were compared with; empty without classes.

    Examples
    --------
    >>> explanation.average_loss.losses[0].values
    array([0.0182])
    """

    output_names: tuple[str, ...]
    losses: tuple[GroupLoss, ...]
    constant_losses: npt.NDArray[np.float64]
    confidence_level: float
    plots: tuple[Plot, ...]
    options: AverageLossOptions
    rows: RowsUsed | None
    message: average_loss_pb2.AverageLossResult = field(repr=False)
    class_pairings: tuple[ClassPairing, ...] = ()

    @classmethod
    def from_message(cls, message: explanation_service_pb2.Explanation) -> AverageLossResult:
        """Read the message of the contract."""
        losses = tuple(GroupLoss.from_message(loss) for loss in message.average_loss.losses)
        return read_result(cls, message, losses=losses)

    def to_arrow(self) -> pa.Table:
        """Return one row per group and output.

        Returns
        -------
        pyarrow.Table
            Columns `group`, `output`, `value`, `weight`, `standard_error`, `lower`, `upper`; the
            last three are null without replicates.
        """
        rows = [
            (loss.group, output, loss.values[k], loss.weight, *_spread(loss, k))
            for loss in self.losses
            for k, output in enumerate(self.output_names)
        ]
        return to_rows(rows, _SCHEMA)


def _spread(loss: GroupLoss, output: int) -> tuple[float | None, ...]:
    if not loss.lower.size:
        return None, None, None
    return loss.standard_errors[output], loss.lower[output], loss.upper[output]
