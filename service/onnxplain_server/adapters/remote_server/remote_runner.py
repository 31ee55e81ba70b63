"""Runner in the server's own process, whose remote models are asked by the process that calls."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from onnxplain_server.adapters.remote_server.handed_models import HandedModels
from onnxplain_server.core.interfaces import Blobs, Runner, RunnerHost
from onnxplain_server.core.remote_sessions import RemoteSessions
from onnxplain_server.core.request import Reply, ReplyFormat


class RemoteRunner:
    """`Runner` of this process that opens a session for a request with a remote model.

    Parameters
    ----------
    runner : Runner
        Opens remote models by `handed`.
    handed : HandedModels
    sessions : RemoteSessions
    """

    def __init__(self, runner: Runner, handed: HandedModels, sessions: RemoteSessions) -> None:
        self._runner = runner
        self._handed = handed
        self._sessions = sessions

    def explain(
        self,
        request: bytes,
        blobs: Blobs,
        host: RunnerHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        """See `Runner.explain`."""
        with self._session(blobs, host):
            return self._runner.explain(request, blobs, host, reply_format)

    def plan(
        self,
        request: bytes,
        blobs: Blobs,
        host: RunnerHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        """See `Runner.plan`."""
        with self._session(blobs, host):
            return self._runner.plan(request, blobs, host, reply_format)

    def describe(
        self,
        request: bytes,
        blobs: Blobs,
        host: RunnerHost,
        reply_format: ReplyFormat = ReplyFormat.PROTOBUF,
    ) -> Reply:
        """See `Runner.describe`."""
        with self._session(blobs, host):
            return self._runner.describe(request, blobs, host, reply_format)

    @contextmanager
    def _session(self, blobs: Blobs, host: RunnerHost) -> Iterator[None]:
        with self._sessions.session(blobs, host) as end:
            if end is None:
                yield
                return
            with self._handed.handed(end.dup()):
                yield
