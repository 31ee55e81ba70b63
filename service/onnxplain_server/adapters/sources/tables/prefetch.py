"""Ranges of files, fetched ahead of their use, by several threads, within a bound of bytes."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from onnxplain_server.adapters.sources.interfaces import FileReader, SourceFile

THREADS = 8
"""Reads at a time: enough to fill a network where each waits some 30 ms for its first byte."""

READ_BYTES = 4 << 20
"""Largest read: several at a time are faster than a large one."""

AHEAD_BYTES = 64 << 20
"""Fetched, and not used yet, at most; more only where one part of a table is larger."""

Piece = tuple[int, bytes | memoryview]
"""Position in the file, and content."""

_Item = TypeVar("_Item")
_Result = TypeVar("_Result")


@dataclass(frozen=True)
class RangeGroup:
    """Ranges of a file that are used together.

    Attributes
    ----------
    ranges : sequence of (start, length)
        In their order, without overlaps.
    """

    file: SourceFile
    ranges: Sequence[tuple[int, int]]

    @property
    def byte_count(self) -> int:
        return sum(length for _, length in self.ranges)


class Prefetch:
    """Threads that fetch; a context manager, whose end waits for reads that run."""

    def __init__(self, reader: FileReader) -> None:
        self._reader = reader
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="fetch")

    def __enter__(self) -> Prefetch:
        return self

    def __exit__(self, *_: object) -> None:
        self._pool.shutdown(wait=True, cancel_futures=True)

    def map(self, function: Callable[[_Item], _Result], items: Iterable[_Item]) -> list[_Result]:
        """Call a function, which reads, for all items at once."""
        return list(self._pool.map(function, items))

    def ahead(self, parts: Iterable[RangeGroup], byte_limit: int) -> Iterator[list[Piece]]:
        """Yield the content of parts in their order, and fetch the next ones meanwhile.

        Parameters
        ----------
        byte_limit : int
            Of what is held ahead; a part that is larger is fetched by itself.
        """
        waiting: deque[tuple[int, list[tuple[int, Future[bytes | memoryview]]]]] = deque()
        held = 0
        for part in parts:
            while waiting and held + part.byte_count > min(byte_limit, AHEAD_BYTES):
                count, futures = waiting.popleft()
                yield _contents(futures)
                held -= count
            waiting.append((part.byte_count, self._fetch(part)))
            held += part.byte_count
        while waiting:
            yield _contents(waiting.popleft()[1])

    def _fetch(self, part: RangeGroup) -> list[tuple[int, Future[bytes | memoryview]]]:
        return [
            (start, self._pool.submit(self._read, part.file, start, length))
            for start, length in _pieces(part.ranges)
        ]

    def _read(self, file: SourceFile, start: int, length: int) -> bytes | memoryview:
        return self._reader.read(file, [(start, length)])[0]


def _contents(futures: Iterable[tuple[int, Future[bytes | memoryview]]]) -> list[Piece]:
    return [(start, future.result()) for start, future in futures]


def _pieces(ranges: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Split long ranges."""
    for start, length in ranges:
        for offset in range(0, length, READ_BYTES):
            yield start + offset, min(READ_BYTES, length - offset)


def joined(ranges: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """Sort ranges, and join those without a gap: no byte between others is read, and none twice."""
    result: list[tuple[int, int]] = []
    for start, length in sorted(ranges):
        if result and start <= sum(result[-1]):
            first, known = result[-1]
            result[-1] = (first, max(known, start + length - first))
        else:
            result.append((start, length))
    return result
