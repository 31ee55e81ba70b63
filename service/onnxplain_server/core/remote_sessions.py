"""Protocol between a server and what calls remote models for its computations."""

from __future__ import annotations

import socket
from contextlib import AbstractContextManager
from typing import Protocol

from onnxplain_server.core.interfaces import Blobs, RunnerHost


class RemoteSessions(Protocol):
    """Sessions of requests with remote models. Both raise REMOTE_MODEL_NOT_LISTED."""

    def check(self, model: bytes) -> None:
        """Raise where a serialised RemoteModel may not be asked; also INVALID_REQUEST."""

    def session(
        self, blobs: Blobs, host: RunnerHost
    ) -> AbstractContextManager[socket.socket | None]:
        """Open a session for the remote model among the files of a request, until the end.

        Its socket reaches that model only, and is closed with the context. None where the request
        has no remote model.
        """
