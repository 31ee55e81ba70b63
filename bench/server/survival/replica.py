"""Replica that is killed: a server of operations with all its workers."""

from __future__ import annotations

import signal
from collections.abc import Callable
from contextlib import ExitStack, suppress
from types import TracebackType

import onnxplain
import psutil

from bench.server.server_process import Server, served


class Replica:
    """Server in a process of its own, with its workers; one thread predicts.

    Parameters
    ----------
    settings
        Of the server, by name.
    """

    def __init__(self, **settings: object) -> None:
        self._stack = ExitStack()
        self.server: Server = self._stack.enter_context(served(**settings))
        self._process = psutil.Process(self.server.pid)

    def __enter__(self) -> Replica:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._stack.close()

    def client(self, token: str) -> onnxplain.Client:
        """Connect as a caller."""
        return onnxplain.connect(self.server.endpoint, token=token, timeout=60)

    @property
    def is_computing(self) -> bool:
        """Whether a request runs in it."""
        return self.server.metric("onnxplain_running_requests") > 0

    def end(self, number: signal.Signals) -> None:
        """Kill the server and all its workers at once; or send the server a signal, and wait."""
        if number is signal.SIGKILL:
            self._each(psutil.Process.kill)
        else:
            self._process.send_signal(number)
        self._stack.close()

    def _each(self, do: Callable[[psutil.Process], None]) -> None:
        for process in self._family():
            with suppress(psutil.NoSuchProcess):
                do(process)

    def _family(self) -> list[psutil.Process]:
        return [self._process, *self._process.children(recursive=True)]
