"""Results of `PermutationImportance`: loss of accuracy by shuffled features."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from onnxplain.results.origins import ClassPairing, RowsUsed
from onnxplain.results.plots import Plot
from onnxplain.results.reading import read
from onnxplain.results.tabular import Tabular, joined, parts, read_result, to_rows
from onnxplain.v1 import explanation_service_pb2, permutation_importance_pb2
from onnxplain.v1.permutation_importance_pb2 import PermutationImportanceOptions

_NUMBERS = [
    ("output", pa.string()),
    ("value", pa.float64()),
    ("standard_error", pa.float64()),
    ("baseline_loss", pa.float64()),
]


@dataclass(frozen=True, slots=True, eq=False)
class FeatureImportance:
    """Importance of features that were shuffled together.

    Attributes
    ----------
    features : tuple of str
        Features shuffled together.
    values : (n_outputs,)
        Average loss after shuffling minus that before; negative where predictions get
        better by chance.
    standard_errors : (n_outputs,)
        Of each value, from shuffling anew; NaN for a single repetition. It does not
        cover what another table would change.
    lower, upper : (n_outputs,)
        90 % intervals of the values on all rows; empty but in a partial explanation that
        comes from some of them.
    """

    features: tuple[str, ...]
    values: npt.NDArray[np.float64]
    standard_errors: npt.NDArray[np.float64]
    lower: npt.NDArray[np.float64]
    upper: npt.NDArray[np.float64]

    @classmethod
    def from_message(
        cls, message: permutation_importance_pb2.PermutationImportance
    ) -> FeatureImportance:
        """Read the message of the contract."""
        return read(cls, message)


@dataclass(frozen=True, slots=True, eq=False)
class PermutationImportanceResult(Tabular):
    """Permutation importances, with the losses before shuffling.

    Attributes
    ----------
    output_names : tuple of str
        What the numbers are about, in the order of every array here; ("total",) where
        losses are summed over outputs.
    baseline_losses : (n_outputs,)
        Average losses before shuffling.
    importances : tuple of FeatureImportance
        In the order asked for; by default, in table order.
    plots : tuple of Plot
    options : PermutationImportanceOptions
        The message with every default filled in.
    rows : RowsUsed or None
        The rows of the table that the numbers are computed on.
    message : PermutationImportanceResult
        As the server sent it.
    class_pairings : tuple of ClassPairing
        Classes of the target, and the outputs they were compared with; empty without classes.

    Examples
    --------
    >>> frame = explanations.permutation_importance.to_pandas()
    >>> frame.sort_values("value", ascending=False)
    """

    output_names: tuple[str, ...]
    baseline_losses: npt.NDArray[np.float64]
    importances: tuple[FeatureImportance, ...]
    plots: tuple[Plot, ...]
    options: PermutationImportanceOptions
    rows: RowsUsed | None
    message: permutation_importance_pb2.PermutationImportanceResult = field(repr=False)
    class_pairings: tuple[ClassPairing, ...] = ()

    @classmethod
    def from_message(
        cls, message: explanation_service_pb2.Explanation
    ) -> PermutationImportanceResult:
        """Read the message of the contract."""
        entries = message.permutation_importance.importances
        importances = tuple(FeatureImportance.from_message(entry) for entry in entries)
        return read_result(cls, message, importances=importances)

    def to_arrow(self) -> pa.Table:
        """Return one row per entry and output.

        Returns
        -------
        pyarrow.Table
            Columns `features` ("age × bmi"), the same one by one as `feature_1`, `feature_2` and so
            on, `output`, `value`, `standard_error`, `baseline_loss`.
        """
        count = max((len(importance.features) for importance in self.importances), default=1)
        names = ["features", *(f"feature_{k}" for k in range(1, count + 1))]
        schema = pa.schema([*((name, pa.string()) for name in names), *_NUMBERS])
        rows = [
            (joined(importance.features), *parts(importance.features, count), *numbers)
            for importance in self.importances
            for numbers in zip(
                self.output_names,
                importance.values,
                importance.standard_errors,
                self.baseline_losses,
                strict=True,
            )
        ]
        return to_rows(rows, schema)
