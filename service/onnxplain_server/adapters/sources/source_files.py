"""Files of a table as a table reader sees them: ranges of objects of one version each."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from onnxplain_server.adapters.sources.interfaces import ObjectVersion, SourceFile

_THREAD_COUNT = 8
_PART_BYTES = 2**24
"""Larger ranges are several requests, at the same time."""


@dataclass(frozen=True, slots=True)
class FoundFile:
    """File with how it is read.

    Attributes
    ----------
    found : ObjectVersion
    path : str
        See `SourceFile.path`.
    read : callable (start, length) -> bytes or memoryview
    """

    found: ObjectVersion
    path: str
    read: Callable[[int, int], bytes | memoryview]


class SourceFiles:
    """`FileReader` over objects.

    Parameters
    ----------
    found : sequence of FoundFile

    Attributes
    ----------
    read_byte_counts : list of int
        Bytes read of each file.
    """

    def __init__(self, found: Sequence[FoundFile]) -> None:
        self._found = found
        self._pool = ThreadPoolExecutor(_THREAD_COUNT, thread_name_prefix="range")
        self._lock = threading.Lock()
        self.read_byte_counts = [0] * len(found)
        self.files: Sequence[SourceFile] = [
            SourceFile(str(file.found.uri), file.path, file.found.byte_count, index)
            for index, file in enumerate(found)
        ]

    def read(
        self, file: SourceFile, ranges: Sequence[tuple[int, int]]
    ) -> Sequence[bytes | memoryview]:
        """Read ranges of a file; see `FileReader.read`."""
        spans = _joined(ranges)
        parts = [part for span in spans for part in _cut(*span)]
        # A single part needs no other thread; table readers have threads of their own.
        run = map if len(parts) == 1 else self._pool.map
        contents = list(run(lambda part: self._read(file.index, *part), parts))
        by_start = _assembled(spans, dict(zip(parts, contents, strict=True)))
        return [_slice(by_start, start, length) for start, length in ranges]

    def close(self) -> None:
        """End the threads."""
        self._pool.shutdown(cancel_futures=True)

    def _read(self, index: int, start: int, length: int) -> bytes | memoryview:
        content = self._found[index].read(start, length)
        with self._lock:
            self.read_byte_counts[index] += length
        return content


def _joined(ranges: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Join ranges that overlap or touch, sorted by their starts; nothing between them is read."""
    spans: list[tuple[int, int]] = []
    for start, length in sorted(ranges):
        if spans and start <= sum(spans[-1]):
            first, size = spans[-1]
            spans[-1] = (first, max(size, start + length - first))
        else:
            spans.append((start, length))
    return spans


def _cut(start: int, length: int) -> list[tuple[int, int]]:
    end = start + length
    return [(at, min(_PART_BYTES, end - at)) for at in range(start, end, _PART_BYTES)]


def _assembled(
    spans: Sequence[tuple[int, int]], contents: dict[tuple[int, int], bytes | memoryview]
) -> list[tuple[int, memoryview]]:
    """Return each span's start and content."""
    whole = []
    for span in spans:
        parts = [contents[part] for part in _cut(*span)]
        whole.append((span[0], memoryview(parts[0] if len(parts) == 1 else b"".join(parts))))
    return whole


def _slice(spans: Sequence[tuple[int, memoryview]], start: int, length: int) -> memoryview:
    """Return a range, cut out of the span that holds it."""
    first, content = max(
        (span for span in spans if span[0] <= start),
        key=lambda span: span[0],
        default=(start, memoryview(b"")),
    )
    return content[start - first : start - first + length]
