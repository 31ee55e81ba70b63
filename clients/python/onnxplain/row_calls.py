"""Calls about rows of a table: their predictions, and what the table holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from onnxplain.errors import ShortTracebacks
from onnxplain.requests.arguments import Scale
from onnxplain.requests.fitted_calls import FittedCalls
from onnxplain.requests.rows import to_check_request, to_describe_request, to_predict_request
from onnxplain.results.predictions import PredictionComparison, Predictions
from onnxplain.results.table_descriptions import TableDescription
from onnxplain.transport.messages import Messages
from onnxplain.transport.rpcs import CHECK, DESCRIBE_TABLE, PREDICT
from onnxplain.transport.uploads import files_of


class RowCalls(FittedCalls):
    """Base of `Client`: calls about rows.

    Attributes
    ----------
    messages : Messages
    """

    messages: Messages

    # Long: most of it documents the parameters.
    def predict(
        self,
        model: Any,
        table: Any,
        *,
        rows: Sequence[int] = (),
        feature_columns: Sequence[str] = (),
        input_columns: Mapping[str, Sequence[str]] | None = None,
        target_column: str = "",
        target_columns: Sequence[str] = (),
        weight_column: str = "",
        output_indices: Sequence[int] = (),
        outputs: str | Sequence[str] = (),
        scale: Scale | None = None,
        prediction: str | Sequence[str] = (),
        allow_inconsistent_model: bool = False,
        timeout: float | None = None,
    ) -> Predictions:
        """Predict rows of a table, as an explanation would ask the model for them.

        Parameters
        ----------
        model, table
            As for `explain`. One row is enough, and a column may have no value.
        rows : sequence of int
            Rows to predict, from 0, in this order, none twice; at most 10,000. Default: all rows
            of the table, which may then have no more.
        feature_columns, input_columns, output_indices, outputs, scale, prediction
            As for `explain`; by default, all outputs are predicted.
        allow_inconsistent_model : bool
            As for `explain`.
        target_column, target_columns, weight_column : str; sequence of str
            Columns that are no features, where the model takes its columns by position.
        timeout : float, optional
            Seconds. Default: the client's.

        Examples
        --------
        >>> client.predict("model.onnx", frame, rows=[0, 5, 7]).values
        >>> client.predict("model.onnx", frame).to_pandas()
        """
        __tracebackhide__ = True
        with ShortTracebacks():
            model = self._file_of(model, table, feature_columns, timeout)
            request = to_predict_request(
                model,
                table,
                rows=rows,
                feature_columns=feature_columns,
                input_columns=input_columns,
                target_column=target_column,
                target_columns=target_columns,
                weight_column=weight_column,
                output_indices=output_indices,
                outputs=outputs,
                scale=scale,
                prediction=prediction,
                allow_inconsistent_model=allow_inconsistent_model,
            )
            response = self.messages.answer(
                PREDICT, request, timeout=timeout, files=files_of(model, table)
            )
            return Predictions.from_message(response)

    # Long: likewise.
    def check(
        self,
        model: Any,
        table: Any,
        expected: Any,
        *,
        feature_columns: Sequence[str] = (),
        input_columns: Mapping[str, Sequence[str]] | None = None,
        target_column: str = "",
        weight_column: str = "",
        output_indices: Sequence[int] = (),
        outputs: str | Sequence[str] = (),
        scale: Scale | None = None,
        prediction: str | Sequence[str] = (),
        allow_inconsistent_model: bool = False,
        timeout: float | None = None,
    ) -> PredictionComparison:
        """Compare a model with what the library that trained it predicts.

        Parameters
        ----------
        model, table
            As for `explain`. One row is enough, and a column may have no value.
        expected : str, sequence of str, or (n_rows,) or (n_rows, n_outputs) of numbers
            What the library predicts: columns of the table, or numbers for its rows, in their
            order, beside a table in this process: no file or address. One for each output, or
            for each one that `explain` takes by default: of a binary classifier, the probability
            of the second class is enough.
        feature_columns, input_columns, output_indices, outputs, scale, prediction
            As for `explain`.
        allow_inconsistent_model : bool
            As for `explain`.
        target_column, weight_column : str
            Columns that are no features, where the model takes its columns by position.
        timeout : float, optional
            Seconds. Default: the client's.

        Returns
        -------
        PredictionComparison
            `agrees` tells whether all rows agree, and `likely_causes` why some do not.

        Examples
        --------
        >>> check = client.check("model.onnx", X, model.predict_proba(X))
        >>> assert check.agrees, check
        """
        __tracebackhide__ = True
        with ShortTracebacks():
            request = to_check_request(
                model,
                table,
                expected,
                feature_columns=feature_columns,
                input_columns=input_columns,
                target_column=target_column,
                weight_column=weight_column,
                output_indices=output_indices,
                outputs=outputs,
                scale=scale,
                prediction=prediction,
                allow_inconsistent_model=allow_inconsistent_model,
            )
            response = self.messages.answer(
                CHECK, request, timeout=timeout, files=files_of(model, table)
            )
            return PredictionComparison.from_message(response.comparison, response.warnings)

    # Long: likewise.
    def describe_table(
        self,
        table: Any,
        model: Any = None,
        *,
        rows: Sequence[int] = (),
        row_count: int | None = None,
        near: Mapping[str, float | str] | None = None,
        feature_columns: Sequence[str] = (),
        input_columns: Mapping[str, Sequence[str]] | None = None,
        target_column: str = "",
        target_columns: Sequence[str] = (),
        weight_column: str = "",
        timeout: float | None = None,
    ) -> TableDescription:
        """Tell what a table holds, and with a model, which column is which feature.

        Parameters
        ----------
        table, model
            As for `explain`. Default: columns are matched with nothing.
        rows : sequence of int
            Rows to return, from 0, in this order, none twice; at most 1000. Default: the first.
        row_count : int, optional
            Number of rows to return: the first ones, or with `near` the nearest. In [0, 1000];
            default: 10.
        near : mapping of column to number or text, optional
            One row, whose nearest rows are returned in place of the first, by Gower's distance
            over these columns.
        feature_columns, input_columns, target_column, target_columns, weight_column
            As for `explain`.
        timeout : float, optional
            Seconds. Default: the client's.

        Examples
        --------
        >>> client.describe_table(frame, "model.onnx").matching.feature_columns
        >>> client.describe_table(frame, near={"age": 40, "city": "Bern"}, row_count=3).rows
        """
        __tracebackhide__ = True
        with ShortTracebacks():
            model = self._file_of(model, table, feature_columns, timeout)
            request = to_describe_request(
                table,
                model,
                rows=rows,
                row_count=row_count,
                near=near,
                feature_columns=feature_columns,
                input_columns=input_columns,
                target_column=target_column,
                target_columns=target_columns,
                weight_column=weight_column,
            )
            response = self.messages.answer(
                DESCRIBE_TABLE, request, timeout=timeout, files=files_of(model, table)
            )
            return TableDescription.from_message(response)
