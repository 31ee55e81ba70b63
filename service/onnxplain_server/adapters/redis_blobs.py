"""Uploaded files in Redis, in parts, for all replicas."""

from __future__ import annotations

import hashlib
import logging
import math
import secrets
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import cast

from redis import Redis

from onnxplain_server.adapters.redis_blob_room import Entry, Room, part_keys
from onnxplain_server.adapters.redis_link import KEYS, Link, LinkError
from onnxplain_server.adapters.seal import SEAL_BYTES, Seal
from onnxplain_server.run import Blob

LOG = logging.getLogger(__name__)

# With its seal, a part has 1 MiB: Redis serves one command at a time.
_PART_BYTES = 2**20 - SEAL_BYTES
_PARTS_AT_ONCE = 4


class RedisBlobs:
    """A `BlobStore` in Redis.

    A head, under the file's name, says where its parts lie. It is written
    last, and read first: a file is there as a whole or not at all. Each part
    is sealed under the file's name and its place.

    Parameters
    ----------
    link : Link
    seal : Seal
    byte_limit : int
        For all files of all replicas together; uploads at the same moment may
        exceed it by their size.
    seconds : float
        How long a file is kept.
    """

    def __init__(self, link: Link, seal: Seal, byte_limit: int, seconds: float) -> None:
        self.byte_limit = byte_limit
        self._link = link
        self._seal = seal
        self._milliseconds = round(1000 * seconds)
        self._room = Room(link, byte_limit, seconds)

    def get(self, name: str) -> Blob | None:
        """See `BlobStore.get`."""
        try:
            head = self._head(name)
            content = None if head is None else self._content(name, head.entry)
            if head is None or content is None:
                # Forgotten, so that the next upload does not take the file for whole.
                self._link.ask(lambda redis: redis.delete(_key(name)))
                return None
        except LinkError:
            return None
        return Blob(head.form, content)

    def put(self, name: str, blob: Blob) -> None:
        """See `BlobStore.put`; where Redis has no room, or fails, nothing is kept."""
        size = len(blob.content)
        if size > self.byte_limit:
            return
        entry = Entry(secrets.token_hex(16), math.ceil(size / _PART_BYTES), size)
        try:
            if not self._renew(name):
                self._room.make(size)
                self._write(name, blob, entry)
        except LinkError as error:
            LOG.warning("an uploaded file is not in Redis, but in this process only: %s", error)
            with suppress(LinkError):
                self._room.clear(entry)

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

        whole = self._link.ask(command)
        if whole:
            self._room.enter(head.entry)
        return whole

    def _write(self, name: str, blob: Blob, entry: Entry) -> None:
        # Entered first, so that what is left of a broken upload is cleared away.
        self._room.enter(entry)
        sealed = self._sealed_parts(name, blob.content, entry)
        keys = part_keys(entry)
        for start in range(0, len(keys), _PARTS_AT_ONCE):
            self._set(
                {key: next(sealed) for key in keys[start : start + _PARTS_AT_ONCE]},
            )
        head = _Head(blob.form, entry)
        self._set({_key(name): self._seal.close(name, head.pack())})

    def _set(self, values: dict[str, bytes]) -> None:
        def command(redis: Redis) -> None:
            pipeline = redis.pipeline(transaction=False)
            for key, value in values.items():
                pipeline.set(key, value, px=self._milliseconds)
            pipeline.execute()

        self._link.ask(command)

    def _sealed_parts(self, name: str, content: bytes, entry: Entry) -> Iterator[bytes]:
        view = memoryview(content)
        for number in range(entry.part_count):
            part = view[number * _PART_BYTES : (number + 1) * _PART_BYTES]
            yield self._seal.close(_part_name(name, entry, number), bytes(part))

    def _head(self, name: str) -> _Head | None:
        sealed = self._link.ask(lambda redis: cast("bytes | None", redis.get(_key(name))))
        payload = None if sealed is None else self._seal.open(name, sealed)
        return None if payload is None else _Head.unpack(payload)

    def _content(self, name: str, entry: Entry) -> bytes | None:
        """Fetch all parts; None where one of them is not there, or not whole."""
        keys, parts = part_keys(entry), []
        for start in range(0, len(keys), _PARTS_AT_ONCE):
            some = keys[start : start + _PARTS_AT_ONCE]
            for number, sealed in enumerate(self._fetch(some), start):
                where = _part_name(name, entry, number)
                part = None if sealed is None else self._seal.open(where, sealed)
                if part is None:
                    return None
                parts.append(part)
        return b"".join(parts)

    def _fetch(self, keys: list[str]) -> list[bytes | None]:
        return self._link.ask(lambda redis: cast("list[bytes | None]", redis.mget(keys)))


@dataclass(frozen=True, slots=True)
class _Head:
    """What a file is, and where its parts lie. Its packed form is read only where it was sealed."""

    form: str
    entry: Entry

    def pack(self) -> bytes:
        return f"{self.form} {self.entry.pack()}".encode()

    @staticmethod
    def unpack(packed: bytes) -> _Head | None:
        form, _, entry = packed.decode().partition(" ")
        unpacked = Entry.unpack(entry)
        return None if unpacked is None else _Head(form, unpacked)


def _part_name(name: str, entry: Entry, number: int) -> str:
    return f"{name}\n{entry.token}\n{number}"


def _key(name: str) -> str:
    return f"{KEYS}blob:{hashlib.sha256(name.encode()).hexdigest()}"
