"""Service that also explains rows of a platform's request, in one slot from body to answer."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from onnxplain_server.core.request import (
    NO_IDS,
    Body,
    Reply,
    RequestFile,
    RequestParts,
    ServiceMethod,
)
from onnxplain_server.transport.admission.follower import NOBODY
from onnxplain_server.transport.admission.ticket import Ticket
from onnxplain_server.transport.service import Service


class RowService(Service):
    """`Service` with requests whose body holds rows alone; see `ServiceMethod.ROWS`."""

    def explain_rows(
        self,
        body: Body,
        model: RequestFile,
        ticket: Ticket,
        addition: Callable[[RequestParts, bytes, str], bytes],
    ) -> Reply:
        """Explain rows; the reply is canonical JSON.

        Parameters
        ----------
        body : Body
        model : RequestFile
            The model that is explained.
        ticket : Ticket
        addition : callable (request, answer, id of its model) -> bytes
            Returns a serialised ExplainResponse that is added to the answer, which is one too.
        """
        with self._slot(ticket, ServiceMethod.ROWS.value, body):
            parts = replace(self._decoded(body, ticket), model=model)
            call = self._naming.name(ServiceMethod.EXPLAIN, parts, ticket)
            reply = self._compute(call, ticket, NOBODY)
            # Parsers merge messages that follow each other: repeated fields are joined.
            content = (*reply.parts, addition(parts, reply.content, call.ids.model))
            answer = self._decoded(Body(ServiceMethod.ANSWER, "", lambda: content), ticket)
        return Reply((answer.envelope,), reply.work)

    def _decoded(self, body: Body, ticket: Ticket) -> RequestParts:
        # Without ids, decoders share no cached numbers with a computation.
        return self._decoder.decode(body, self._context(NO_IDS, ticket))
