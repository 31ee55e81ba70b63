"""Columns that are text to the model of a request, for files that have no types."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from onnxplain.v1.explanation_service_pb2 import (
    DescribeModelRequest,
    DescribeModelResponse,
    ExplainRequest,
)

from onnxplain_server.core.sources import TableNeeds
from onnxplain_server.transport.fetched_files import described_columns

_TEXT = "string"


class TextColumns:
    """Tells which columns of a file are text, as those of the request's table are.

    Parameters
    ----------
    request : ExplainRequest
        With its model, and what its flags tell of columns.
    describe : callable (DescribeModelRequest) -> DescribeModelResponse
    """

    def __init__(
        self,
        request: ExplainRequest,
        describe: Callable[[DescribeModelRequest], DescribeModelResponse],
    ) -> None:
        self._request = request
        self._describe = describe

    def __call__(self, names: Sequence[str]) -> Sequence[str]:
        """Return those of these columns that the model takes as text."""
        if not self._request.HasField("model"):
            return ()
        asked = DescribeModelRequest(model=self._request.model)
        columns = described_columns(self._describe(asked).model)
        if columns.inputs and all(each.type == _TEXT for each in columns.inputs):
            return names
        # It loads NumPy, and few commands have rows without types.
        from onnxplain_server.wire.requests.needed_columns import NeededColumns  # noqa: PLC0415

        named = ExplainRequest(
            feature_columns=self._request.feature_columns,
            input_columns=self._request.input_columns,
            target_column=self._request.target_column,
            target_columns=self._request.target_columns,
            weight_column=self._request.weight_column,
        )
        return NeededColumns(TableNeeds(named.SerializeToString(), columns)).texts(names)
