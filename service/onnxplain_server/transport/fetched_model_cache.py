"""Fetched models, kept in the store of uploads by the version that their store told."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from contextlib import contextmanager

from onnxplain_server.core.interfaces import BlobStore, Cache
from onnxplain_server.core.request import RequestFile
from onnxplain_server.core.sources import FetchControl

_OWNER = "sources"
"""No caller has this name: those of callers are digests."""


class FetchedModelCache:
    """`ModelCache` in the store of uploads, shared by all callers, as the listed prefixes are.

    Parameters
    ----------
    store : BlobStore
    cache : Cache
        Deduplicates fetches.
    """

    def __init__(self, store: BlobStore, cache: Cache) -> None:
        self._store = store
        self._cache = cache

    def get(self, version: str) -> bytes | bytearray | None:
        """Return the file of a version."""
        blob = self._store.get(_name("model", version))
        return None if blob is None else blob.content

    def put(self, version: str, content: bytes | bytearray) -> None:
        """Store the file of a version."""
        self._store.put(_name("model", version), RequestFile("onnx", content))

    @contextmanager
    def single_flight(self, uri: str, control: FetchControl) -> Iterator[None]:
        """See `ModelCache.single_flight`; with Redis, across replicas."""

        def keep_waiting() -> bool:
            control.check("while another request fetched the same model")
            return True

        with self._cache.single_flight(_name("fetch", uri), keep_waiting):
            yield


def _name(kind: str, text: str) -> str:
    return f"{_OWNER}:{kind}:{hashlib.sha256(text.encode()).hexdigest()}"
