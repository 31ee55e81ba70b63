"""Protocol between a server and what calls remote models for its computations."""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from onnxplain_server.core.counts.remote_counts import CallCounts
from onnxplain_server.core.interfaces import Blobs, SessionHost
from onnxplain_server.core.remote.listing import not_listed
from onnxplain_server.core.request import REMOTE_FORM


class RemoteSessions(Protocol):
    """Sessions of requests with remote models. They raise REMOTE_MODEL_NOT_LISTED."""

    def counts(self) -> Mapping[str, CallCounts]:
        """Return what calls came to since the start, by prefix of the list."""

    def check(self, model: bytes) -> None:
        """Raise where a serialised RemoteModel may not be asked; also INVALID_REQUEST."""

    def session(
        self, blobs: Blobs, host: SessionHost
    ) -> AbstractContextManager[socket.socket | None]:
        """Open a session for the remote model among the files of a request, until the end.

        Its socket reaches that model only, and is closed with the context. None where the request
        has no remote model.
        """


class NoRemoteSessions:
    """`RemoteSessions` of a server whose operator lists no remote model."""

    def counts(self) -> Mapping[str, CallCounts]:
        """Return nothing."""
        return {}

    def check(self, _model: bytes) -> None:
        """Refuse it."""
        raise not_listed()

    def session(
        self, blobs: Blobs, _host: SessionHost
    ) -> AbstractContextManager[socket.socket | None]:
        """Refuse a request with a remote model."""
        for blob in blobs.values():
            if blob.form == REMOTE_FORM:
                self.check(bytes(blob.content))
        return nullcontext()


NO_REMOTE_SESSIONS = NoRemoteSessions()
