"""Files that may change while the server runs, as secrets of Kubernetes do."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Generic, TypeVar

LOG = logging.getLogger(__name__)

LOOK_SECONDS = 1.0

_LARGEST_BYTES = 2**20

_Value = TypeVar("_Value")


class FileError(Exception):
    """A file that cannot be used; the message names it and the rule, and none of its content."""


class WatchedFiles(Generic[_Value]):
    """What some files say together; looked at again when it is used, once a second at most.

    Their contents are compared, not their times: a volume of Kubernetes swaps
    a link, and an editor may keep the size and the second.

    Parameters
    ----------
    files : sequence of Path
    parse : callable (contents) -> value
        Raises FileError for contents that cannot be used.
    clock : callable () -> float
        Seconds; must never go back.

    Raises
    ------
    FileError
        Where they cannot be used at the start. Later, what they said before
        stays in force, and the log tells.
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
        """Return what they say, at most a second late."""
        # Whoever comes while another looks takes what is known: none waits for a disk.
        if self._clock() >= self._next and self._looking.acquire(blocking=False):
            try:
                self._look()
                self._next = self._clock() + LOOK_SECONDS
            finally:
                self._looking.release()
        return self._value

    def _look(self) -> None:
        try:
            contents = self._read()
            if contents == self._contents:
                return
            self._value = self._parse(contents)
        except FileError as error:
            self._tell(str(error))
            return
        self._contents, self._fault = contents, ""
        LOG.info("read again: %s", ", ".join(map(str, self._files)))

    def _tell(self, fault: str) -> None:
        if fault != self._fault:
            self._fault = fault
            LOG.error("%s; what was read before stays in force", fault)

    def _read(self) -> list[bytes]:
        return [_content(file) for file in self._files]


def _content(file: Path) -> bytes:
    try:
        with file.open("rb") as opened:
            content = opened.read(_LARGEST_BYTES + 1)
    except OSError as error:
        raise FileError(f"{file}: {error.strerror}") from None
    if len(content) > _LARGEST_BYTES:
        raise FileError(f"{file}: has more than {_LARGEST_BYTES:,} bytes")
    return content
