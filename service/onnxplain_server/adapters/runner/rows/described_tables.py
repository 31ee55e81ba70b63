"""Descriptions of tables, also matched with a model, which is loaded and not asked."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing, contextmanager

from onnxplain.v1 import explanation_service_pb2 as service_pb2

from onnxplain_server.adapters.onnx import UntriedModelError
from onnxplain_server.adapters.runner.loaded_models import LoadedModels
from onnxplain_server.adapters.runner.remote.named_remote import remote_model
from onnxplain_server.adapters.runner.remote.opened import OpenedRemote
from onnxplain_server.adapters.runner.request_parts import model_file
from onnxplain_server.adapters.runner.table_cache import TableCache
from onnxplain_server.core.binding.input_columns import check_inputs_named
from onnxplain_server.core.interfaces import Blobs, Call, ComputationHost
from onnxplain_server.core.model import HasInputs
from onnxplain_server.core.remote.models import RemoteModels
from onnxplain_server.core.request import NO_WORK, Work
from onnxplain_server.explain import Question
from onnxplain_server.explain.rows.describe_table import describe_table
from onnxplain_server.explain.rows.matching import match
from onnxplain_server.explain.sample import as_model_reads
from onnxplain_server.telemetry.spans import span
from onnxplain_server.wire import question
from onnxplain_server.wire.requests import table_descriptions


class DescribedTables:
    """Answers requests about tables.

    Parameters
    ----------
    models : LoadedModels
    tables : TableCache
    remotes : RemoteModels
        Opens models behind addresses.
    """

    def __init__(self, models: LoadedModels, tables: TableCache, remotes: RemoteModels) -> None:
        self._models = models
        self._tables = tables
        self._remotes = remotes

    def answer(
        self, call: Call, host: ComputationHost
    ) -> tuple[service_pb2.DescribeTableResponse, Work]:
        """Answer a serialised DescribeTableRequest."""
        message = service_pb2.DescribeTableRequest()
        with span("decode"):
            question.parse(call.request, message)
            columns, choice = table_descriptions.read(message)
            table = self._tables.read(message.table, call.blobs)
        check_inputs_named(columns.input_columns)
        with self._model(message, call.blobs, host, columns) as model:
            table = as_model_reads(table, columns, model)
            summary = describe_table(table, choice, host)
            matching = match(model, table, columns) if model else None
        return table_descriptions.write(summary, matching), NO_WORK

    @contextmanager
    def _model(
        self,
        message: service_pb2.DescribeTableRequest,
        blobs: Blobs,
        host: ComputationHost,
        columns: Question,
    ) -> Iterator[HasInputs | None]:
        """Open the model of a request; None where it has none."""
        if named := remote_model(message.model, blobs):
            with closing(OpenedRemote(named, self._remotes, host, columns.scale)) as remote:
                yield remote.model
            return
        file = model_file(message, blobs)
        try:
            model = self._models.load(file, columns.scale, host).model if file else None
        except UntriedModelError as untried:
            yield untried  # its inputs are known, and its answers are not asked for
        else:
            yield model
