"""Remote models of computations, each on the socket that was handed to its request."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from contextvars import ContextVar
from typing import Protocol

from onnxplain_server.adapters.remote_server.socket_predictions import SocketPredictions
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Blobs
from onnxplain_server.core.remote.models import RemoteAddress, RemotePredictions
from onnxplain_server.core.request import REMOTE_FORM
from onnxplain_server.core.sources import FetchControl


class _SocketHost(Protocol):
    """Host that hands sockets over."""

    def receive_socket(self) -> socket.socket:
        """Receive the socket of a request."""


class _Handed:
    """Socket of one request, and what reads from it."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._predictions: SocketPredictions | None = None

    def open(self, control: FetchControl) -> RemotePredictions:
        if self._predictions is None:
            self._predictions = SocketPredictions(self._end, control)
        return self._predictions

    def close(self) -> None:
        """Close the socket, by its reader if it has one."""
        (self._predictions or self._end).close()


class HandedModels:
    """Opens the remote model of the request that is computed."""

    def __init__(self) -> None:
        self._handed: ContextVar[_Handed | None] = ContextVar("handed", default=None)

    @contextmanager
    def receiving(self, blobs: Blobs, host: _SocketHost) -> Iterator[None]:
        """Receive the socket of a request that has a remote model; close it at the end."""
        if all(blob.form != REMOTE_FORM for blob in blobs.values()):
            yield
            return
        with self.handed(host.receive_socket()):
            yield

    @contextmanager
    def handed(self, end: socket.socket) -> Iterator[None]:
        """Compute with a socket, which is owned from now on and closed at the end."""
        with closing(_Handed(end)) as handed:
            token = self._handed.set(handed)
            try:
                yield
            finally:
                self._handed.reset(token)

    def open(self, _address: RemoteAddress, control: FetchControl) -> RemotePredictions:
        """Open the request's remote model: the address is the one that the socket is bound to."""
        handed = self._handed.get()
        if handed is None:
            raise ExplainError(
                Reason.REMOTE_MODEL_NOT_LISTED,
                "this computation was given no connection to a remote model",
                "model.remote.uri",
            )
        return handed.open(control)
