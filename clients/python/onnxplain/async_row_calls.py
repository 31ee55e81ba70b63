"""Calls of `AsyncClient` about rows of a table: predictions, and what the table holds."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from onnxplain.errors import ShortTracebacks
from onnxplain.requests.arguments import Scale
from onnxplain.requests.fitted_calls import AsyncFittedCalls
from onnxplain.requests.rows import to_check_request, to_describe_request, to_predict_request
from onnxplain.results.predictions import PredictionComparison, Predictions
from onnxplain.results.table_descriptions import TableDescription
from onnxplain.transport.calls import AsyncRemote
from onnxplain.transport.rpcs import CHECK, DESCRIBE_TABLE, PREDICT
from onnxplain.transport.uploads import files_of


class AsyncRowCalls(AsyncFittedCalls):
    """Base of `AsyncClient`: calls about rows; see `RowCalls` for their arguments.

    Attributes
    ----------
    messages : AsyncRemote
    """

    messages: AsyncRemote

    # Long: each argument is a parameter, and is passed on.
    async def predict(
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
        """Predict rows of a table; see `Client.predict`."""
        __tracebackhide__ = True
        with ShortTracebacks():
            model = await self._file_of(model, table, feature_columns, timeout)
            request = await asyncio.to_thread(
                to_predict_request,
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
            response = await self.messages.answer(
                PREDICT, request, timeout=timeout, files=files_of(model, table)
            )
            return Predictions.from_message(response)

    async def check(
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
        """Compare a model with what its library predicts; see `Client.check`."""
        __tracebackhide__ = True
        with ShortTracebacks():
            request = await asyncio.to_thread(
                to_check_request,
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
            response = await self.messages.answer(
                CHECK, request, timeout=timeout, files=files_of(model, table)
            )
            return PredictionComparison.from_message(response.comparison, response.warnings)

    async def describe_table(
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
        """Tell what a table holds; see `Client.describe_table`."""
        __tracebackhide__ = True
        with ShortTracebacks():
            model = await self._file_of(model, table, feature_columns, timeout)
            request = await asyncio.to_thread(
                to_describe_request,
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
            response = await self.messages.answer(
                DESCRIBE_TABLE, request, timeout=timeout, files=files_of(model, table)
            )
            return TableDescription.from_message(response)
