"""Remote models of a server whose operator lists none."""

from __future__ import annotations

import socket
from contextlib import AbstractContextManager, nullcontext

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Blobs, RunnerHost
from onnxplain_server.wire.blobs import REMOTE_FORM


class NoRemoteSessions:
    """`RemoteSessions` of a server whose operator lists no remote model."""

    def check(self, _model: bytes) -> None:
        """Refuse it."""
        raise ExplainError(
            Reason.REMOTE_MODEL_NOT_LISTED,
            "this server asks no remote models: its operator lists none, in the setting "
            "remote_models_file. Have it listed, or send an ONNX file",
            "model.remote.uri",
        )

    def session(
        self, blobs: Blobs, _host: RunnerHost
    ) -> AbstractContextManager[socket.socket | None]:
        """Refuse a request with a remote model."""
        for blob in blobs.values():
            if blob.form == REMOTE_FORM:
                self.check(bytes(blob.content))
        return nullcontext()


NO_REMOTE_SESSIONS = NoRemoteSessions()
