"""Calls of `Client` that start operations and find them again."""

from __future__ import annotations

import uuid
from collections.abc import Iterator, Mapping
from typing import Any, Unpack

from onnxplain.errors import ShortTracebacks
from onnxplain.operations import Operation
from onnxplain.requests import RequestOptions, to_request
from onnxplain.requests.fitted_calls import FittedCalls
from onnxplain.requests.forms import Method
from onnxplain.transport.messages import Messages
from onnxplain.transport.operation_calls import pages
from onnxplain.transport.uploads import files_of


class OperationsOfCaller(FittedCalls):
    """Base of `Client`: operations of the caller.

    Attributes
    ----------
    messages : Messages
        The same calls on messages of the contract.
    """

    messages: Messages

    # Long: most of it documents the parameters.
    def start(
        self,
        model: Any,
        table: Any,
        *methods: Method | str,
        request_id: str = "",
        labels: Mapping[str, str] | None = None,
        timeout: float | None = None,
        **request: Unpack[RequestOptions],
    ) -> Operation:
        """Start an explanation that the server computes and keeps, and return its operation.

        It outlives this client: `operation` finds it again by its name. A server without Redis
        refuses with OPERATIONS_DISABLED.

        Parameters
        ----------
        model, table, methods, **request
            As for `explain`.
        request_id : str, optional
            Name of the request: starting an equal request again with the same name returns the
            same operation. Default: a random one.
        labels : mapping of str to str, optional
            For filters of `operations`.
        timeout : float, optional
            Seconds for this call, not for the explanation. Default: the client's.

        Examples
        --------
        >>> operation = client.start("model.onnx", frame, onnxplain.Interactions())
        >>> explanation = operation.result()
        """
        __tracebackhide__ = True
        with ShortTracebacks():
            columns = request.get("feature_columns", ())
            model = self._file_of(model, table, columns, timeout)
            message = to_request(model, table, *methods, **request)
            started = self.messages.start(
                message,
                request_id=request_id or uuid.uuid4().hex,
                labels=labels or {},
                timeout=timeout,
                files=files_of(model, table),
            )
            return Operation(started, self.messages.operations)

    def operation(self, name: str, *, timeout: float | None = None) -> Operation:
        """Return the operation of this name; OPERATION_NOT_FOUND."""
        __tracebackhide__ = True
        with ShortTracebacks():
            found = self.messages.operations.get(name, timeout=timeout)
        return Operation(found, self.messages.operations)

    def operations(
        self,
        filter: str = "",  # noqa: A002 - the contract's name
        *,
        timeout: float | None = None,
    ) -> Iterator[Operation]:
        """Yield the operations of this caller, newest first, without their answers.

        Parameters
        ----------
        filter : str
            Conditions joined by AND, like `state = RUNNING AND labels.team = "risk"`; of state,
            done, method, request_id and labels.KEY, with = and !=.
        timeout : float, optional
            Seconds for each page. Default: the client's.
        """
        __tracebackhide__ = True
        with ShortTracebacks():
            for message in pages(self.messages.operations, filter, timeout):
                yield Operation(message, self.messages.operations)
