"""Audit file: appends whole lines, follows rotation, and counts the lines that are lost."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Callable
from io import TextIOWrapper
from logging.handlers import WatchedFileHandler

from onnxplain_server.transport.audit.audit_line import audit_line
from onnxplain_server.transport.audit.ended_explanation import EndedExplanation

LOG = logging.getLogger(__name__)

STANDARD_OUTPUT = "stdout"

_OUTPUT_DESCRIPTOR = 1
_MODE = 0o640
"""Of a new file, for its owner and a group of readers: it names callers."""


class AuditFile:
    """Sink that writes the line of each explanation, before its caller has the answer (gRPC).

    A line is one `write` to a file in append mode, so that several servers may share a file. After
    a rotation, the file of the name is opened anew. A line that cannot be written is lost: it is
    counted, and the first one after a success is logged.

    Parameters
    ----------
    target : str
        "stdout", or the path of a file.
    count_loss : callable () -> None
        Called for each lost line.

    Raises
    ------
    OSError
        If the file cannot be opened for appending.
    """

    def __init__(self, target: str, count_loss: Callable[[], None] = lambda: None) -> None:
        self._target = target
        self._count_loss = count_loss
        self._lock = threading.Lock()
        self._is_torn = self._is_failing = False
        self._file = None if target == STANDARD_OUTPUT else _RotatedFile(target)

    def __call__(self, explanation: EndedExplanation) -> None:
        """Write the line of an explanation."""
        line = f"{audit_line(explanation)}\n".encode()
        with self._lock:
            try:
                self._write(line)
            except OSError as error:
                self._lose(error)
            else:
                self._is_failing = False

    def close(self) -> None:
        """Close the file."""
        if self._file is not None:
            self._file.close()

    def _write(self, line: bytes) -> None:
        """Write a line by one call; after part of a line, on a line of its own."""
        descriptor = _OUTPUT_DESCRIPTOR if self._file is None else self._file.descriptor()
        content = b"\n" * self._is_torn + line
        written = os.write(descriptor, content)
        self._is_torn = 0 < written < len(content)
        if written < len(content):
            raise OSError(f"only {written} of {len(content)} bytes were written")

    def _lose(self, error: OSError) -> None:
        self._count_loss()
        if not self._is_failing:
            LOG.error("the audit log %s cannot be written: %s", self._target, error)
        self._is_failing = True


class _RotatedFile(WatchedFileHandler):
    """File in append mode, opened anew once its name means another file, or none.

    Only the descriptor of the handler is used: its buffer would tear lines, and write lost ones
    again later.
    """

    def descriptor(self) -> int:
        """Return the descriptor of the current file."""
        self.reopenIfNeeded()
        if self.stream is None:  # it could not be opened the last time
            self.stream = self._open()
        return self.stream.fileno()

    def _open(self) -> TextIOWrapper:
        return open(self.baseFilename, "a", encoding="utf-8", opener=_create)


def _create(path: str, flags: int) -> int:
    return os.open(path, flags, _MODE)
