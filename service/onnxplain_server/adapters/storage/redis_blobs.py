"""Uploaded files in Redis, in parts, for all replicas."""

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
from onnxplain_server.core.interfaces import Blob

LOG = logging.getLogger(__name__)

# With its signer, a part has 1 MiB: Redis serves one command at a time.
_PART_BYTES = 2**20 - SIGNATURE_BYTES


class RedisBlobs:
    """A `BlobStore` in Redis.

    A head, under the file's name, says where its parts lie. It is written
    last, and read first: a file is there as a whole or not at all. Each part
    is sealed under the file's name and its place.

    Parameters
    ----------
    connection : RedisConnection
    signer : Signer
    byte_limit : int
        For all files of all replicas together; uploads at the same moment may
        exceed it by their size.
    seconds : float
        How long a file is kept.
    """

    def __init__(
        self, connection: RedisConnection, signer: Signer, byte_limit: int, seconds: float
    ) -> None:
        self.byte_limit = byte_limit
        self._connection = connection
        self._signer = signer
        self._milliseconds = round(1000 * seconds)
        self._room = BlobIndex(connection, byte_limit, seconds)

    def get(self, name: str) -> Blob | None:
        """See `BlobStore.get`."""
        try:
            head = self._head(name)
            content = None if head is None else self._content(name, head.entry)
            if head is None or content is None:
                self._forget(name, head)
                return None
        except RedisUnavailableError:
            return None
        return Blob(head.form, content)

    def put(self, name: str, blob: Blob) -> None:
        """See `BlobStore.put`; where Redis has no room, or fails, nothing is kept."""
        size = len(blob.content)
        if size > self.byte_limit:
            return
        entry = IndexEntry(secrets.token_hex(16), math.ceil(size / _PART_BYTES), size, _owner(name))
        try:
            if not self._renew(name):
                self._room.make(entry)
                self._write(name, blob, entry)
        except RedisUnavailableError as error:
            LOG.warning("an uploaded file is not in Redis, but in this process only: %s", error)
            with suppress(RedisUnavailableError):
                self._room.clear(entry)

    def _forget(self, name: str, head: _Head | None) -> None:
        """Delete what is left of a file, so that the next upload does not take it for whole."""
        self._connection.ask(lambda redis: redis.delete(_key(name)))
        if head is not None:
            self._room.clear(head.entry)

    def _renew(self, name: str) -> bool:
        """Prolong the life of a file; whether all of it is there."""
        head = self._head(name)
        if head is None:
            return False
        keys = [_key(name), *part_keys(head.entry)]

        def command(redis: Redis) -> bool:
            pipeline = redis.pipeline(transaction=False)
            for key in keys:
                pipeline.pexpire(key, self._milliseconds)
            return all(pipeline.execute())

        whole = self._connection.ask(command)
        if whole:
            self._room.enter(head.entry)
        return whole

    def _write(self, name: str, blob: Blob, entry: IndexEntry) -> None:
        # Entered first, so that what is left of a broken upload is cleared away.
        self._room.enter(entry)
        view = memoryview(blob.content)
        for number, key in enumerate(part_keys(entry)):
            part = bytes(view[number * _PART_BYTES : (number + 1) * _PART_BYTES])
            self._set(key, self._signer.sign(_part_name(name, entry, number), part))
        head = _Head(blob.form, entry)
        self._set(_key(name), self._signer.sign(name, head.pack()))

    def _set(self, key: str, value: bytes) -> None:
        self._connection.ask(lambda redis: redis.set(key, value, px=self._milliseconds))

    def _head(self, name: str) -> _Head | None:
        payload = self._get(_key(name), name)
        return None if payload is None else _Head.unpack(payload)

    def _content(self, name: str, entry: IndexEntry) -> bytes | None:
        """Fetch all parts; None where one of them is not there, or not whole."""
        parts = []
        for number, key in enumerate(part_keys(entry)):
            part = self._get(key, _part_name(name, entry, number))
            if part is None:
                return None
            parts.append(part)
        return b"".join(parts)

    def _get(self, key: str, name: str) -> bytes | None:
        sealed = self._connection.ask(lambda redis: value(redis.get(key)))
        return None if sealed is None else self._signer.verify(name, sealed)


@dataclass(frozen=True, slots=True)
class _Head:
    """What a file is, and where its parts lie. Its packed form is read only where it was sealed."""

    form: str
    entry: IndexEntry

    def pack(self) -> bytes:
        return f"{self.form} {self.entry.pack()}".encode()

    @staticmethod
    def unpack(packed: bytes) -> _Head | None:
        form, _, entry = packed.decode().partition(" ")
        unpacked = IndexEntry.unpack(entry)
        return None if unpacked is None else _Head(form, unpacked)


def _part_name(name: str, entry: IndexEntry, number: int) -> str:
    return f"{name}\n{entry.token}\n{number}"


def _owner(name: str) -> str:
    """Shorten whose file it is, for the list of files."""
    return hashlib.sha256(owner_of(name).encode()).hexdigest()[:16]


def _key(name: str) -> str:
    return f"{KEYS}blob:{hashlib.sha256(name.encode()).hexdigest()}"
