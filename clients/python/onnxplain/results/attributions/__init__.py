"""Results of `Attributions`: parts of the features in the predictions of single rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from importlib import import_module
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from onnxplain.columns import Values, from_column
from onnxplain.results.origins import RowsUsed
from onnxplain.results.plots import Plot
from onnxplain.results.tabular import Tabular, read_result, to_frame
from onnxplain.v1 import attributions_pb2, explanation_service_pb2
from onnxplain.v1.attributions_pb2 import AttributionsOptions

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, slots=True, eq=False)
class AttributionsResult(Tabular):
    """Parts of the features in the predictions of single rows.

    Attributes
    ----------
    output_names : tuple of str
        The explained outputs, in the order of every array here.
    features : tuple of n_features tuples of str
        What values belong to: one feature, or several that count as one.
    explained_row_count : int
        Number of rows explained. Where `result_uri` names a Parquet table, the rows are in that
        table alone, and n_rows is 0 here.
    row_indices : (n_rows,)
        The rows explained, counted from 0 in the table; empty for `explained_rows`.
    base_values : (n_outputs,)
        Average prediction of the background.
    predictions : (n_rows, n_outputs)
    values : (n_rows, n_features, n_outputs)
        In the unit of the output.
    standard_errors : (n_rows, n_features, n_outputs) or None
        None where values are exact.
    largest_standard_errors : (n_outputs,)
        Of all rows and features; empty where values are exact.
    additivity_errors : (n_outputs,)
        Largest difference between a prediction and the sum of base value and values; empty for
        Banzhaf values.
    interactions : (n_rows, n_pairs, n_outputs) or None
        Of the pairs of `pairs`; None for order 1.
    mean_absolute_values, mean_absolute_standard_errors : (n_features, n_outputs)
        Over the rows explained, by their weights.
    feature_values : dict of str to (n_rows,) array
        Values of the model's features at the rows explained.
    plots : tuple of Plot
    options : AttributionsOptions
        The message with every default filled in.
    rows : RowsUsed or None
        The rows of the background.
    message : AttributionsResult
        As the server sent it.

    Examples
    --------
    >>> frame = explanations.attributions.to_pandas()
    >>> frame[frame.row_index == 3].sort_values("value")
    """

    output_names: tuple[str, ...]
    features: tuple[tuple[str, ...], ...]
    explained_row_count: int
    row_indices: npt.NDArray[np.int32]
    base_values: npt.NDArray[np.float64]
    predictions: npt.NDArray[np.float64]
    values: npt.NDArray[np.float64]
    standard_errors: npt.NDArray[np.float64] | None
    largest_standard_errors: npt.NDArray[np.float64]
    additivity_errors: npt.NDArray[np.float64]
    interactions: npt.NDArray[np.float64] | None
    mean_absolute_values: npt.NDArray[np.float64]
    mean_absolute_standard_errors: npt.NDArray[np.float64]
    feature_values: dict[str, Values]
    plots: tuple[Plot, ...]
    options: AttributionsOptions
    rows: RowsUsed | None
    message: attributions_pb2.AttributionsResult = field(repr=False)

    @classmethod
    def from_message(cls, message: explanation_service_pb2.Explanation) -> AttributionsResult:
        """Read the message of the contract."""
        result = message.attributions
        n_features, n_outputs = len(result.features), len(result.output_names)
        n_rows = len(result.predictions) // n_outputs
        shape = (n_rows, n_features, n_outputs)
        own = (n_features, n_outputs)
        errors, pairs = np.array(result.standard_errors), np.array(result.interactions)
        return read_result(
            cls,
            message,
            features=tuple(tuple(group.names) for group in result.features),
            row_indices=np.array(result.row_indices, dtype=np.int32),
            predictions=np.array(result.predictions).reshape(n_rows, n_outputs),
            values=np.array(result.values).reshape(shape),
            standard_errors=errors.reshape(shape) if len(errors) else None,
            interactions=pairs.reshape(n_rows, math.comb(n_features, 2), n_outputs)
            if message.options.attributions.order > 1
            else None,
            mean_absolute_values=np.array(result.mean_absolute_values).reshape(own),
            mean_absolute_standard_errors=np.array(result.mean_absolute_standard_errors).reshape(
                own
            ),
            feature_values={each.name: from_column(each) for each in result.feature_values},
        )

    @property
    def pairs(self) -> tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]:
        """Pairs of `features`, in the order of `interactions`."""
        return tuple(combinations(self.features, 2))

    def to_arrow(self) -> pa.Table:
        """Return one row per row explained, feature and output; for order 2, also per pair.

        Returns
        -------
        pyarrow.Table
            Columns `row_index` (in the table, or in `explained_rows`), `kind` ("value" or
            "interaction"), `features` ("age + bmi" for a group, "age × bmi" for a pair),
            `feature_1` and `feature_2` (those of a pair; null for values), `output`, `value`,
            `standard_error` (null where values are exact), `prediction`, `base_value`. The numbers
            of kind "value" make the prediction; pairs split them further, and do not add to them.
        """
        names = [" + ".join(group) for group in self.features]
        values = self._rows("value", [(name,) for name in names], self.values, self.standard_errors)
        if self.interactions is None:
            return values
        pairs = [*combinations(names, 2)]
        return pa.concat_tables([values, self._rows("interaction", pairs, self.interactions, None)])

    def _rows(
        self,
        kind: str,
        players: Sequence[tuple[str, ...]],
        numbers: npt.NDArray[np.float64],
        errors: npt.NDArray[np.float64] | None,
    ) -> pa.Table:
        """Return numbers, (n_rows, n_players, n_outputs), as tidy rows."""
        n_rows, n_players, n_outputs = numbers.shape
        rows = self.row_indices if len(self.row_indices) else np.arange(n_rows, dtype=np.int32)

        def texts(own: Sequence[str | None]) -> pa.Array:
            repeated = [text for text in own for _ in range(n_outputs)]
            return pa.array(repeated * n_rows, pa.string())

        both = [each if each[1:] else (None, None) for each in players]
        return pa.table(
            {
                "row_index": np.repeat(rows, n_players * n_outputs),
                "kind": pa.array([kind] * numbers.size, pa.string()),
                "features": texts([" × ".join(each) for each in players]),
                "feature_1": texts([each[0] for each in both]),
                "feature_2": texts([each[1] for each in both]),
                "output": pa.array([*self.output_names] * (n_rows * n_players), pa.string()),
                "value": numbers.reshape(-1),
                "standard_error": pa.nulls(numbers.size, pa.float64())
                if errors is None
                else errors.reshape(-1),
                "prediction": np.repeat(self.predictions, n_players, axis=0).reshape(-1),
                "base_value": np.tile(self.base_values, n_rows * n_players),
            }
        )

    def _frame(self) -> pd.DataFrame:
        """Leave out `kind` where all numbers are values."""
        frame = to_frame(self.to_arrow())
        return frame.drop(columns="kind") if self.interactions is None else frame

    def to_shap(self, *, interactions: bool = False) -> Any:
        """Return the values as an explanation of the package shap, for its plots.

        Parameters
        ----------
        interactions : bool
            Whether values are split as by shap's `shap_interaction_values`: main effects on the
            diagonal, and half of each interaction on both sides of it.

        Returns
        -------
        shap.Explanation
            `values` (n_rows, n_features), or (n_rows, n_features, n_features) for interactions; of
            several outputs with a last axis for them. `data` has the features' values, as one text
            for a group.

        Raises
        ------
        ModuleNotFoundError
            If shap is not installed.
        ValueError
            If the rows are in the table at `result_uri`, or have no interactions.
        """
        if self.explained_row_count > len(self.values):
            raise ValueError("the answer has no rows: they are in the table at result_uri")
        values = self._split() if interactions else self.values
        shap = import_module("shap")
        is_single = len(self.output_names) == 1
        base_values = np.tile(self.base_values, (len(self.values), 1))
        return shap.Explanation(
            values=values[..., 0] if is_single else values,
            base_values=base_values[:, 0] if is_single else base_values,
            data=self._data(),
            feature_names=[" + ".join(group) for group in self.features],
            output_names=None if is_single else [*self.output_names],
        )

    def _split(self) -> npt.NDArray[np.float64]:
        """Return values split by pairs: (n_rows, n_features, n_features, n_outputs)."""
        if self.interactions is None:
            raise ValueError("the answer has no interactions: ask for order=2")
        n_rows, n_features, n_outputs = self.values.shape
        split = np.zeros((n_rows, n_features, n_features, n_outputs))
        first, second = np.triu_indices(n_features, 1)
        split[:, first, second] = split[:, second, first] = self.interactions / 2
        own = np.arange(n_features)
        split[:, own, own] = self.values - split.sum(axis=2)
        return split

    def _data(self) -> npt.NDArray[np.object_]:
        """Return the values of features, as one text for a group: (n_rows, n_features)."""
        data = np.empty((len(self.values), len(self.features)), dtype=object)
        for j, group in enumerate(self.features):
            own = [self.feature_values[name] for name in group]
            texts = ("; ".join(map(str, row)) for row in zip(*own, strict=True))
            data[:, j] = own[0] if len(own) == 1 else [*texts]
        return data
