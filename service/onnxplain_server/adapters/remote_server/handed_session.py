"""Session of a request that the server's own process computes: its remote model is handed over."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from onnxplain_server.adapters.remote_server.handed_models import HandedModels
from onnxplain_server.core.interfaces import Blobs, RunnerHost
from onnxplain_server.core.remote.sessions import RemoteSessions


@contextmanager
def handed_session(
    handed: HandedModels, sessions: RemoteSessions, blobs: Blobs, host: RunnerHost
) -> Iterator[None]:
    """Open a session where a request has a remote model, and hand its socket to `handed`.

    Raises
    ------
    ExplainError
        As `RemoteSessions.session`.
    """
    with sessions.session(blobs, host) as end:
        if end is None:
            yield
            return
        with handed.handed(end.dup()):
            yield
