"""Readers of ranges for tests and benchmarks: of bytes in memory, and of objects by obstore."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import obstore
from obstore.store import ObjectStore
from onnxplain_server.adapters.sources.interfaces import SourceFile

if TYPE_CHECKING:
    from obstore import GetOptions


class MemoryReader:
    """Files in memory, by path; keeps what was read of them.

    Attributes
    ----------
    ranges : list of (path, start, length)
    """

    def __init__(self, contents: Mapping[str, bytes]) -> None:
        self._contents = contents
        self._lock = threading.Lock()
        self.ranges: list[tuple[str, int, int]] = []
        self.files: Sequence[SourceFile] = [
            SourceFile(f"s3://bucket/{path}", path, len(content), index)
            for index, (path, content) in enumerate(contents.items())
        ]

    def read(self, file: SourceFile, ranges: Sequence[tuple[int, int]]) -> Sequence[memoryview]:
        content = memoryview(self._contents[file.path])
        with self._lock:
            self.ranges += [(file.path, start, length) for start, length in ranges]
        if not all(0 <= start <= start + length <= len(content) for start, length in ranges):
            raise IndexError(f"{ranges} of {file.path}, which has {len(content)} bytes")
        return [content[start : start + length] for start, length in ranges]

    @property
    def byte_count(self) -> int:
        """Bytes read so far."""
        return sum(length for _, _, length in self.ranges)


class ObjectReader:
    """Objects of a store, without what a server checks before it reads.

    Attributes
    ----------
    store : ObjectStore
        May be put in the place of the one by which the objects were found.
    """

    def __init__(self, store: ObjectStore, prefix: str) -> None:
        self.store = store
        found = [meta for page in obstore.list(store, prefix) for meta in page]
        self._found = sorted(found, key=lambda meta: meta["path"])
        self.files: Sequence[SourceFile] = [
            SourceFile(f"s3://{meta['path']}", _below(meta["path"], prefix), meta["size"], index)
            for index, meta in enumerate(self._found)
        ]

    def read(self, file: SourceFile, ranges: Sequence[tuple[int, int]]) -> Sequence[memoryview]:
        return [self._read(file.index, start, length) for start, length in ranges]

    def _read(self, index: int, start: int, length: int) -> memoryview:
        meta = self._found[index]
        options: GetOptions = {"range": (start, start + length), "if_match": meta["e_tag"]}
        return memoryview(obstore.get(self.store, meta["path"], options=options).bytes())


def _below(path: str, prefix: str) -> str:
    return path.removeprefix(prefix.rstrip("/")).lstrip("/")
