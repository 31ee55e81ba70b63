"""Readers of ranges for tests and benchmarks: of bytes in memory, and of objects by obstore."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

import obstore
from obstore.store import ObjectStore
from onnxplain_server.adapters.sources.interfaces import SourceFile


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
        assert all(0 <= start <= start + length <= len(content) for start, length in ranges)
        return [content[start : start + length] for start, length in ranges]

    @property
    def byte_count(self) -> int:
        """Bytes read so far."""
        return sum(length for _, _, length in self.ranges)


class ObjectReader:
    """Objects below a prefix of a store, without what a server checks before it reads."""

    def __init__(self, store: ObjectStore, prefix: str) -> None:
        self._store = store
        found = [meta for page in obstore.list(store, prefix) for meta in page]
        found.sort(key=lambda meta: meta["path"])
        self._etags = [meta["e_tag"] for meta in found]
        self._paths = [meta["path"] for meta in found]
        self.files: Sequence[SourceFile] = [
            SourceFile(f"s3://{meta['path']}", _below(meta["path"], prefix), meta["size"], index)
            for index, meta in enumerate(found)
        ]

    def read(self, file: SourceFile, ranges: Sequence[tuple[int, int]]) -> Sequence[memoryview]:
        return [self._read(file.index, start, length) for start, length in ranges]

    def _read(self, index: int, start: int, length: int) -> memoryview:
        result = obstore.get(
            self._store,
            self._paths[index],
            options={"range": (start, start + length), "if_match": self._etags[index]},
        )
        return memoryview(result.bytes())


def _below(path: str, prefix: str) -> str:
    return path.removeprefix(prefix.rstrip("/")).lstrip("/")
