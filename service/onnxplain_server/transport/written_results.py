"""Answers that are also written to an address, where a request asks for it."""

from __future__ import annotations

from onnxplain_server.core.request import Reply, ReplyFormat
from onnxplain_server.core.sources import Sources
from onnxplain_server.transport.admission.request_control import RequestControl
from onnxplain_server.transport.uploads import NamedRequest
from onnxplain_server.wire.protobuf_split import response_of_event, result_uri


class WrittenResults:
    """Writes answers to `ExplainRequest.result_uri`.

    Parameters
    ----------
    sources : Sources
    """

    def __init__(self, sources: Sources) -> None:
        self._sources = sources

    def check(self, request: bytes) -> None:
        """Raise before the computation where the answer may not be written to its address."""
        if target := result_uri(request):
            self._sources.check_writable(target)

    def checked(self, named: NamedRequest) -> NamedRequest:
        """Return a request, unless its answer may not be written to its address."""
        self.check(named.message)
        return named

    def write(
        self, request: bytes, reply: Reply, reply_format: ReplyFormat, control: RequestControl
    ) -> None:
        """Write an answer, if its request asks for it; others compute meanwhile."""
        if not (target := result_uri(request)):
            return
        content = reply.content
        if reply_format is ReplyFormat.EVENT:
            content = response_of_event(content)
        with control.release_slot():
            self._sources.write(target, content, control)
