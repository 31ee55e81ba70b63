"""Lookup of one model in the cache of fetched models."""

from __future__ import annotations

from onnxplain_server.core.sources import ModelCache


class CacheLookup:
    """Lookup of the model of one fetch: called with its version once its store has told it.

    It may be called again, with the version of a model that has several files; the last one counts.

    Parameters
    ----------
    cache : ModelCache
    """

    def __init__(self, cache: ModelCache) -> None:
        self._cache = cache
        self._version = ""
        self._cached: bytes | bytearray | None = None

    def __call__(self, version: str) -> bool:
        """Return whether the cache has the model of this version; an empty one is not cached."""
        self._version = version
        self._cached = self._cache.get(version) if version else None
        return self._cached is not None

    def completed(self, content: bytes | bytearray | None) -> bytes | bytearray:
        """Return the file, cached or downloaded; a downloaded one is put into the cache."""
        if self._cached is not None:
            return self._cached
        content = content or b""
        if self._version:
            self._cache.put(self._version, content)
        return content
