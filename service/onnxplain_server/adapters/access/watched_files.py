"""Hot reload of files that change while the server runs, such as Kubernetes secrets.

Changes are detected by content, checked on use and at most once per second.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

LOG = logging.getLogger(__name__)

LOOK_SECONDS = 1.0

_BYTE_LIMIT = 2**20

_Value = TypeVar("_Value")


class FileError(Exception):
    """Invalid file; the message names the file and the rule, and quotes none of its content."""


class WatchedFiles(Generic[_Value]):
    """Value parsed from files, reloaded on use, at most once per second.

    Contents are compared, not modification times: a Kubernetes volume swaps a
    symbolic link, and an editor may keep the size and the second.

    Parameters
    ----------
    files : sequence of Path
    parse : callable (contents) -> value
        Raises FileError for invalid contents.
    clock : callable () -> float
        Monotonic, in seconds.

    Raises
    ------
    FileError
        For files that are invalid at the start. Later, the previous value
        stays in force, and the fault is logged.
    """

    def __init__(
        self,
        files: Sequence[Path],
        parse: Callable[[Sequence[bytes]], _Value],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._files = files
        self._parse = parse
        self._clock = clock
        self._contents = self._read()
        self._value = parse(self._contents)
        self._fault = ""
        self._next = clock() + LOOK_SECONDS
        self._looking = threading.Lock()

    def value(self) -> _Value:
        """Return the current value, at most a second old."""
        # While one thread reloads, the others use the previous value: none waits for a disk.
        if self._clock() >= self._next and self._looking.acquire(blocking=False):
            try:
                self._reload()
                self._next = self._clock() + LOOK_SECONDS
            finally:
                self._looking.release()
        return self._value

    @property
    def is_current(self) -> bool:
        """False while the files have changed and are unusable."""
        return not self._fault

    def _reload(self) -> None:
        try:
            contents = self._read()
            if contents == self._contents and self.is_current:
                return
            self._value = self._parse(contents)
        except FileError as error:
            self._log_fault(str(error))
            return
        self._contents, self._fault = contents, ""
        LOG.info("reloaded: %s", ", ".join(map(str, self._files)))

    def _log_fault(self, fault: str) -> None:
        if fault != self._fault:
            self._fault = fault
            LOG.error("%s; the previous content stays in force", fault)

    def _read(self) -> list[bytes]:
        return [_content(file) for file in self._files]


def _content(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            content = opened.read(_BYTE_LIMIT + 1)
    except OSError as error:
        raise FileError(f"{file}: {error.strerror}") from None
    if len(content) > _BYTE_LIMIT:
        raise FileError(f"{file}: has more than {_BYTE_LIMIT:,} bytes")
    return content
