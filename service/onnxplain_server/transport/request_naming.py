"""Naming of requests: bodies are decoded, files at URIs fetched, all files named by their ids."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import replace
from functools import partial

from onnxplain_server.core.interfaces import Call, Decoder, Runner
from onnxplain_server.core.request import (
    FILES_FORM,
    NO_IDS,
    Body,
    RequestFile,
    RequestIds,
    RequestParts,
    ServiceMethod,
)
from onnxplain_server.core.sources import ModelColumns
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.ticket import Ticket
from onnxplain_server.transport.fetched_files import FetchedFiles, model_columns
from onnxplain_server.transport.uploads import Uploads


class RequestNaming:
    """Names the files of requests.

    Parameters
    ----------
    decoder : Decoder
    runner : Runner
        Describes models whose tables are fetched.
    uploads : Uploads
    fetched : FetchedFiles
    context : callable (RequestIds, Ticket) -> RequestContext
    """

    def __init__(
        self,
        decoder: Decoder,
        runner: Runner,
        uploads: Uploads,
        fetched: FetchedFiles,
        context: Callable[[RequestIds, Ticket], RequestContext],
    ) -> None:
        self._decoder = decoder
        self._runner = runner
        self._uploads = uploads
        self._fetched = fetched
        self._context = context

    def name(self, method: ServiceMethod, request: RequestParts | Body, ticket: Ticket) -> Call:
        """Name the files of a request by id: decoded, of a model put together, at URIs fetched."""
        if isinstance(request, Body):
            # Without ids, it shares neither a process nor cached numbers with a computation.
            request = self._decoder.decode(request, self._context(NO_IDS, ticket))
        if request.model is not None and request.model.form == FILES_FORM:
            request = replace(request, model=self.model(request.model, ticket))
        columns = partial(self._model_columns, ticket)
        request = self._fetched.resolve(method, request, ticket.control, columns)
        return self._uploads.name(method, request, ticket.caller)

    def whole_model(
        self,
        read: RequestFile | Body,
        ticket: Ticket,
        slot: Callable[[], AbstractContextManager[None]],
    ) -> RequestFile:
        """Return a model that was read in one piece; what a decoder has to do waits for a slot."""
        if isinstance(read, RequestFile) and read.form != FILES_FORM:
            return read
        with slot():
            return self.model(read, ticket)

    def model(self, given: RequestFile | Body, ticket: Ticket) -> RequestFile:
        """Return the ONNX file of a form, or of a model in several files, as one piece."""
        if isinstance(given, RequestFile):
            content = bytes(given.content)
            given = Body(ServiceMethod.MODEL, "", lambda: [content])
        decoded = self._decoder.decode(given, self._context(NO_IDS, ticket))
        return decoded.model or RequestFile()

    def _model_columns(self, ticket: Ticket, model: RequestFile) -> ModelColumns:
        """Return the columns that a model takes, of which a worker tells."""
        parts = RequestParts(b"", model)
        call = self._uploads.name(ServiceMethod.DESCRIBE, parts, ticket.caller)
        return model_columns(self._runner.answer(call, self._context(call.ids, ticket)))
