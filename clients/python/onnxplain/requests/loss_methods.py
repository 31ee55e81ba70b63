"""The methods that compare predictions with true values, and their options."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from onnxplain.requests.forms import to_groups, to_names
from onnxplain.v1.average_loss_pb2 import AverageLossOptions
from onnxplain.v1.explanation_service_pb2 import MethodOptions
from onnxplain.v1.permutation_importance_pb2 import PermutationImportanceOptions

Loss: TypeAlias = Literal[
    "SQUARED_ERROR", "ABSOLUTE_ERROR", "POISSON", "GAMMA", "LOGLOSS", "MLOGLOSS"
]
"""How a prediction is compared with the true value."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PermutationImportance:
    """How much worse predictions get when the values of a feature are shuffled.

    Needs a target. Rows times `repeat_count` predictions per feature, of up to 10,000 rows
    unless `row_count` says otherwise.

    Attributes
    ----------
    features : sequence of str or of several str
        What to shuffle: "age" by itself, ("age", "bmi") together. Default: each by itself.
    loss : str, optional
        "SQUARED_ERROR", the default, "ABSOLUTE_ERROR", "POISSON", "GAMMA", "LOGLOSS" or
        "MLOGLOSS".
    target_columns : sequence of str
        Columns with the true values: one, or one per output. Default: `target_column`.
    one_hot_target : bool, optional
        Whether the target names classes. Default: where it is text, or the loss MLOGLOSS.
    sum_outputs : bool
        Whether losses are summed over outputs into one.
    repeat_count : int, optional
        How often each is shuffled; in [1, 1000], default 4.
    normalize : bool
        Whether values are divided by the loss before shuffling.

    Examples
    --------
    >>> onnxplain.PermutationImportance(features=["age", ("age", "bmi")], loss="ABSOLUTE_ERROR")
    """

    features: Sequence[str | Sequence[str]] = ()
    loss: Loss | None = None
    target_columns: Sequence[str] = ()
    one_hot_target: bool | None = None
    sum_outputs: bool = False
    repeat_count: int | None = None
    normalize: bool = False

    def to_message(self) -> MethodOptions:
        """Write it as the contract has it."""
        return MethodOptions(
            permutation_importance=PermutationImportanceOptions(
                features=to_groups(self.features),
                loss=self.loss,
                target_columns=to_names(self.target_columns, "target_columns"),
                one_hot_target=self.one_hot_target,  # type: ignore[arg-type] # None: left out
                sum_outputs=self.sum_outputs,
                repeat_count=self.repeat_count,
                normalize=self.normalize,
            )
        )


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AverageLoss:
    """How far predictions are from the true values, on average.

    Needs a target. One prediction per row, of all rows unless `row_count` says fewer.

    Attributes
    ----------
    loss, target_columns, one_hot_target, sum_outputs
        As in `PermutationImportance`.
    group_column : str
        One average for each group of rows by this column's values.
    group_count : int, optional
        A numeric `group_column` with more values is cut into so many groups. Default 4.

    Examples
    --------
    >>> onnxplain.AverageLoss(loss="LOGLOSS", group_column="region")
    """

    loss: Loss | None = None
    target_columns: Sequence[str] = ()
    one_hot_target: bool | None = None
    sum_outputs: bool = False
    group_column: str = ""
    group_count: int | None = None

    def to_message(self) -> MethodOptions:
        """Write it as the contract has it."""
        return MethodOptions(
            average_loss=AverageLossOptions(
                loss=self.loss,
                target_columns=to_names(self.target_columns, "target_columns"),
                one_hot_target=self.one_hot_target,  # type: ignore[arg-type] # None: left out
                sum_outputs=self.sum_outputs,
                group_column=self.group_column,
                group_count=self.group_count,
            )
        )
