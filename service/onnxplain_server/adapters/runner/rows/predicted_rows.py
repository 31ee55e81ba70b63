"""Requests for predictions of rows: as they are, or compared with expected ones."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from typing import TypeAlias, TypeVar

from onnxplain.v1 import explanation_service_pb2 as service_pb2

from onnxplain_server.adapters.runner.loaded_models import LoadedModels
from onnxplain_server.adapters.runner.request_parts import Asked, request_key
from onnxplain_server.adapters.runner.table_cache import TableCache
from onnxplain_server.core.interfaces import Call, ComputationHost
from onnxplain_server.core.request import Work
from onnxplain_server.core.table import Table
from onnxplain_server.explain.expected_predictions.check import check
from onnxplain_server.explain.rows.predict import predict
from onnxplain_server.telemetry.spans import span
from onnxplain_server.wire import question
from onnxplain_server.wire.requests import predictions

Request = TypeVar("Request", service_pb2.PredictRequest, service_pb2.CheckModelRequest)
Bind: TypeAlias = Callable[[Asked, Table | None], Asked]
"""Loads the model of a request, and binds its table."""


class PredictionRequests:
    """Answers requests for predictions.

    Parameters
    ----------
    tables : TableCache
    bind : Bind
    models : LoadedModels
    threads : ThreadPoolExecutor
        Call models.
    """

    def __init__(
        self, tables: TableCache, bind: Bind, models: LoadedModels, threads: ThreadPoolExecutor
    ) -> None:
        self._tables = tables
        self._bind = bind
        self._models = models
        self._threads = threads

    def predict(
        self, call: Call, host: ComputationHost
    ) -> tuple[service_pb2.PredictResponse, Work]:
        """Answer a serialised PredictRequest."""
        message = service_pb2.PredictRequest()
        asked = self._asked(call, message, host)
        with closing(asked):
            predicted = predict(
                *asked.arguments(self._models, self._threads), tuple(message.row_indices)
            )
            asked.finish()
        work = _work(asked, len(predicted.rows), predicted.predicted_row_count)
        return predictions.write(predicted), work

    def check(
        self, call: Call, host: ComputationHost
    ) -> tuple[service_pb2.CheckModelResponse, Work]:
        """Answer a serialised CheckModelRequest."""
        asked = self._asked(call, service_pb2.CheckModelRequest(), host)
        with closing(asked):
            checked = check(*asked.arguments(self._models, self._threads))
            asked.finish()
        work = _work(asked, checked.comparison.row_count, checked.predicted_row_count)
        return predictions.write_check(checked), work

    def _asked(self, call: Call, message: Request, host: ComputationHost) -> Asked:
        blobs = call.blobs
        with span("decode"):
            question.parse(call.request, message)
            explain_request = predictions.as_explain_request(message)
            parsed = question.read(explain_request)
            rows, digest = self._tables.read_sent(explain_request, blobs)
        key = request_key(call.request, explain_request, blobs)
        asked = Asked(explain_request, blobs, None, None, None, parsed, host, key, digest, None)
        return self._bind(asked, rows)


def _work(asked: Asked, row_count: int, predicted_row_count: int) -> Work:
    counted = asked.predicted_row_count(predicted_row_count)
    return Work(row_count=row_count, predicted_row_count=counted)
