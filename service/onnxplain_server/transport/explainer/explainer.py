"""Explainer: explains rows of one model beside its background, which it has read at its start.

A thread reads the background, tries an explanation of its first row, and computes the interactions
of the model, which later answers take.
"""

from __future__ import annotations

import logging
import math
import threading
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import TypeVar

from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    MethodOptions,
)
from onnxplain.v1.interactions_pb2 import InteractionsOptions
from onnxplain.v1.table_pb2 import Column, Columns

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.request import (
    REMOTE_FORM,
    Body,
    Reply,
    ReplyFormat,
    RequestFile,
    RequestParts,
    ServiceMethod,
)
from onnxplain_server.core.sources import ModelColumns, TableNeeds
from onnxplain_server.transport.admission.admission import Caller
from onnxplain_server.transport.admission.authentication import ANONYMOUS
from onnxplain_server.transport.admission.ticket import Ticket
from onnxplain_server.transport.explainer.background import (
    WHOLE,
    BackgroundTable,
    features,
    roles,
)
from onnxplain_server.transport.explainer.default_methods import default_methods
from onnxplain_server.transport.explainer.kept_interactions import (
    KeptInteractions,
    separate_fields,
)
from onnxplain_server.transport.explainer.row_service import RowService
from onnxplain_server.transport.fetched_files import model_columns
from onnxplain_server.wire.kept_parts import join_parts

LOG = logging.getLogger(__name__)

_T = TypeVar("_T")

_RETRY_SECONDS = 2.0
_PASSING = {
    Reason.OVERLOADED,
    Reason.UNAVAILABLE,
    Reason.SOURCE_UNAVAILABLE,
    Reason.REMOTE_MODEL_UNAVAILABLE,
}
"""Reasons that may pass."""


@dataclass(frozen=True, slots=True)
class Explained:
    """Model and background of an explainer.

    Attributes
    ----------
    name : str
        Of the model, as platforms call it.
    model : callable (features) -> RequestFile
        Names the model; called with the feature columns of the background.
    background : BackgroundTable
    target_column, weight_column : str
        Columns of the background; may be empty.
    feature_columns : tuple of str
        Empty: chosen as for any request.
    interaction_row_count : int
        Rows for the interactions that are computed at the start; 0: none are.
    """

    name: str
    model: Callable[[Sequence[Column]], RequestFile]
    background: BackgroundTable
    target_column: str = ""
    weight_column: str = ""
    feature_columns: Sequence[str] = field(default=())
    interaction_row_count: int = 0


class Explainer:
    """Explains rows; starts in the background.

    Parameters
    ----------
    explained : Explained
    service : RowService
        Computes.
    """

    def __init__(self, explained: Explained, service: RowService) -> None:
        self._explained = explained
        self._service = service
        self._template = b""
        self._inputs: Sequence[tuple[str, str]] = ()
        self._model = RequestFile()
        self._problem = "it has not read its background yet"
        self._kept = KeptInteractions()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="onnxplain-explainer", daemon=True)
        self._thread.start()

    @property
    def name(self) -> str:
        """Name of the model."""
        return self._explained.name

    @property
    def ready(self) -> bool:
        """True once the background is read, and the model explains a row of it."""
        return bool(self._template)

    @property
    def inputs(self) -> Sequence[tuple[str, str]]:
        """Feature columns, by name and datatype of the Open Inference Protocol; once `ready`."""
        return self._inputs

    def stop(self) -> None:
        """End its work at the next step, as a service that stops does."""
        self._stop.set()

    def explain(self, media_type: str, parts: Iterable[bytes], ticket: Ticket) -> Reply:
        """Explain the rows of a body; the reply is a canonical ExplainResponse in JSON.

        Raises
        ------
        ExplainError
            UNAVAILABLE until `ready`; those of the body and of the service.
        """
        if not self._template:
            raise ExplainError(Reason.UNAVAILABLE, f"the explainer is not ready: {self._problem}")
        content = list(join_parts([self._template, b"".join(parts)]))
        body = Body(ServiceMethod.ROWS, media_type, lambda: content)
        return self._service.explain_rows(body, self._model, ticket, self._addition)

    def _addition(self, request: RequestParts, answer: bytes, model: str) -> bytes:
        return self._kept.added_to(answer, model) if request.takes_interactions else b""

    def _run(self) -> None:
        try:
            request = self._request()
            self._read(request, WHOLE)
            self._model = self._explained.model(features(request))
            columns = self._model_columns()
            if any(each.type == "string" for each in columns.inputs):
                self._read(request, replace(WHOLE, request=roles(request), model=columns))
            request.feature_columns[:] = self._feature_names(request, columns)
            self._inputs = [
                (column.name, "BYTES" if column.strings else "FP64") for column in features(request)
            ]
            methods = self._methods(request)
            request.methods.extend(methods)
            self._template = request.SerializeToString()
            LOG.info("the explainer of %s is ready", self.name)
            self._keep_interactions(request)
        except ExplainError as error:
            self._problem = error.message
            if not self._is_stopped():
                LOG.warning("the explainer of %s cannot explain: %s", self.name, error.message)
        except Exception:
            self._problem = "it failed; the server's log tells why"
            self._kept = KeptInteractions(problem=self._problem)
            LOG.exception("the explainer of %s failed unexpectedly", self.name)

    def _read(self, request: ExplainRequest, needs: TableNeeds) -> None:
        """Read the background into a request."""
        read = self._explained.background.read
        columns = self._persist(lambda ticket: read(ticket.control, needs))
        request.table.columns.CopyFrom(Columns.FromString(columns))

    def _request(self) -> ExplainRequest:
        """Make the request that all explanations begin with, without its table."""
        return ExplainRequest(
            target_column=self._explained.target_column,
            weight_column=self._explained.weight_column,
            feature_columns=self._explained.feature_columns,
            model_name=self.name,
            plots=False,
        )

    def _model_columns(self) -> ModelColumns:
        """Return the columns of a model file; a remote model has those of the background."""
        if self._model.form == REMOTE_FORM:
            return ModelColumns()
        parts = RequestParts(b"", self._model)
        reply = self._persist(
            lambda ticket: self._service.answer(
                ServiceMethod.DESCRIBE, parts, ticket, ReplyFormat.PROTOBUF
            )
        )
        return model_columns(reply)

    def _feature_names(self, request: ExplainRequest, columns: ModelColumns) -> Sequence[str]:
        """Return the feature columns of the settings, or those that the model itself names."""
        if request.feature_columns or self._model.form == REMOTE_FORM:
            return list(request.feature_columns)
        present = {column.name for column in request.table.columns.columns}
        return columns.names if present.issuperset(columns.names) else ()

    def _methods(self, request: ExplainRequest) -> list[MethodOptions]:
        return default_methods(lambda methods: self._ask(request, methods), self.name)

    def _keep_interactions(self, request: ExplainRequest) -> None:
        row_count = self._explained.interaction_row_count
        if not row_count:
            self._kept = KeptInteractions(problem="the operator has turned them off")
            return
        methods = [MethodOptions(interactions=InteractionsOptions())]
        try:
            content, model = self._ask(request, methods, row_count)
        except ExplainError as error:
            LOG.warning("no interactions of %s: %s", self.name, error.message)
            self._kept = KeptInteractions(problem=error.message)
            return
        time = datetime.now(UTC).isoformat(timespec="seconds")
        self._kept = KeptInteractions(separate_fields(content), model, time=time)
        LOG.info("the interactions of %s are computed", self.name)

    def _ask(
        self,
        request: ExplainRequest,
        methods: Sequence[MethodOptions],
        row_count: int | None = None,
    ) -> tuple[bytes, str]:
        """Explain the background by methods; return the ExplainResponse and the model's id."""
        envelope = ExplainRequest()
        envelope.CopyFrom(request)
        envelope.ClearField("table")
        envelope.ClearField("methods")
        envelope.methods.extend(methods)
        if row_count is not None:
            envelope.row_count = row_count
        table = RequestFile("columns", request.table.columns.SerializeToString())
        parts = RequestParts(envelope.SerializeToString(), self._model, table)

        def explain(ticket: Ticket) -> tuple[bytes, str]:
            reply = self._service.explain(parts, ticket, ReplyFormat.PROTOBUF)
            return reply.content, ticket.caller.usage.model

        return self._persist(explain)

    def _persist(self, work: Callable[[Ticket], _T]) -> _T:
        """Do work as an anonymous caller, again after what may pass."""
        while True:
            try:
                caller = Caller(ANONYMOUS, math.inf, self._is_stopped)
                with self._service.admit(caller) as ticket:
                    return work(ticket)
            except ExplainError as error:
                if error.reason not in _PASSING or self._is_stopped():
                    raise
                self._problem = error.message
                LOG.warning("the explainer of %s tries again: %s", self.name, error.message)
                self._stop.wait(_RETRY_SECONDS)

    def _is_stopped(self) -> bool:
        return self._stop.is_set() or self._service.is_stopping
