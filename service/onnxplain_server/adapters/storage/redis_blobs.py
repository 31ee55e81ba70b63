"""Uploaded files in Redis, shared by all replicas and split into signed parts of 1 MiB."""

from __future__ import annotations

import hashlib
import logging
import math
import secrets
from contextlib import suppress
from dataclasses import dataclass

from redis import Redis

from onnxplain_server.adapters.storage.eviction import owner_of
from onnxplain_server.adapters.storage.redis_connection import (
    KEYS,
    RedisConnection,
    RedisUnavailableError,
)
from onnxplain_server.adapters.storage.redis_eviction import BlobIndex, IndexEntry, part_keys
from onnxplain_server.adapters.storage.redis_replies import value
from onnxplain_server.adapters.storage.signing import SIGNATURE_BYTES, Signer
from onnxplain_server.core.request import RequestFile

LOG = logging.getLogger(__name__)

# A part with its signature has 1 MiB: Redis serves one command at a time.
_PART_BYTES = 2**20 - SIGNATURE_BYTES


class RedisBlobs:
    """`BlobStore` in Redis.

    A header under the file's name locates its parts. It is written last and
    read first, so a file is complete or absent. Each part is signed under the
    file's name and its position.

    Parameters
    ----------
    connection : RedisConnection
    signer : Signer
    byte_limit : int
        For all files of all replicas together; concurrent uploads may exceed it
        by their size.
    seconds : float
        Time to live of a file.
    """

    def __init__(
        self, connection: RedisConnection, signer: Signer, byte_limit: int, seconds: float
    ) -> None:
        self.byte_limit = byte_limit
        self._connection = connection
        self._signer = signer
        self._milliseconds = round(1000 * seconds)
        self._index = BlobIndex(connection, byte_limit, seconds)

    def get(self, name: str) -> RequestFile | None:
        """Return a file; None where it is absent or incomplete, or Redis fails."""
        try:
            header = self._header(name)
            content = None if header is None else self._content(name, header.entry)
            if header is None or content is None:
                self._forget(name, header)
                return None
        except RedisUnavailableError:
            return None
        return RequestFile(header.form, content)

    def put(self, name: str, blob: RequestFile) -> None:
        """Store a file, and evict others to fit; dropped where Redis has no room or fails."""
        size = len(blob.content)
        if size > self.byte_limit:
            return
        entry = IndexEntry(secrets.token_hex(16), math.ceil(size / _PART_BYTES), size, _owner(name))
        try:
            if not self._renew(name):
                self._index.make_room(entry)
                self._write(name, blob, entry)
        except RedisUnavailableError as error:
            LOG.warning("an uploaded file is not in Redis, but in this process only: %s", error)
            with suppress(RedisUnavailableError):
                self._index.delete(entry)

    def _forget(self, name: str, header: _Header | None) -> None:
        """Delete the rest of a file, so that the next upload does not take it for complete."""
        self._connection.ask(lambda redis: redis.delete(_key(name)))
        if header is not None:
            self._index.delete(header.entry)

    def _renew(self, name: str) -> bool:
        """Extend the time to live of a file; return whether it is complete."""
        header = self._header(name)
        if header is None:
            return False
        keys = [_key(name), *part_keys(header.entry)]

        def command(redis: Redis) -> bool:
            pipeline = redis.pipeline(transaction=False)
            for key in keys:
                pipeline.pexpire(key, self._milliseconds)
            return all(pipeline.execute())

        is_complete = self._connection.ask(command)
        if is_complete:
            self._index.add(header.entry)
        return is_complete

    def _write(self, name: str, blob: RequestFile, entry: IndexEntry) -> None:
        # Indexed first, so that the parts of a failed upload are evicted.
        self._index.add(entry)
        view = memoryview(blob.content)
        for number, key in enumerate(part_keys(entry)):
            part = bytes(view[number * _PART_BYTES : (number + 1) * _PART_BYTES])
            self._set(key, self._signer.sign(_part_name(name, entry, number), part))
        header = _Header(blob.form, entry)
        self._set(_key(name), self._signer.sign(name, header.pack()))

    def _set(self, key: str, value: bytes) -> None:
        self._connection.ask(lambda redis: redis.set(key, value, px=self._milliseconds))

    def _header(self, name: str) -> _Header | None:
        payload = self._get(_key(name), name)
        return None if payload is None else _Header.unpack(payload)

    def _content(self, name: str, entry: IndexEntry) -> bytes | None:
        """Fetch all parts; None where one is absent or invalid."""
        parts = []
        for number, key in enumerate(part_keys(entry)):
            part = self._get(key, _part_name(name, entry, number))
            if part is None:
                return None
            parts.append(part)
        return b"".join(parts)

    def _get(self, key: str, name: str) -> bytes | None:
        signed = self._connection.ask(lambda redis: value(redis.get(key)))
        return None if signed is None else self._signer.verify(name, signed)


@dataclass(frozen=True, slots=True)
class _Header:
    """Format and location of a file. Its packed form is read only after its signature."""

    form: str
    entry: IndexEntry

    def pack(self) -> bytes:
        return f"{self.form} {self.entry.pack()}".encode()

    @staticmethod
    def unpack(packed: bytes) -> _Header | None:
        form, _, entry = packed.decode().partition(" ")
        unpacked = IndexEntry.unpack(entry)
        return None if unpacked is None else _Header(form, unpacked)


def _part_name(name: str, entry: IndexEntry, number: int) -> str:
    return f"{name}\n{entry.token}\n{number}"


def _owner(name: str) -> str:
    """Hash the owner to a fixed length, for the index."""
    return hashlib.sha256(owner_of(name).encode()).hexdigest()[:16]


def _key(name: str) -> str:
    return f"{KEYS}blob:{hashlib.sha256(name.encode()).hexdigest()}"
