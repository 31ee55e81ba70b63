"""Bytes of operations in Redis: requests and responses, split into signed parts of 1 MiB."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress

from onnxplain_server.adapters.storage.operations.redis_operation_scripts import OperationScripts
from onnxplain_server.adapters.storage.redis_replies import value
from onnxplain_server.adapters.storage.signing import SIGNATURE_BYTES, Signer
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.operation_store import OperationStoreError, OperationStoreFullError

# A part with its signature has 1 MiB: Redis serves one command at a time.
PART_BYTES = 2**20 - SIGNATURE_BYTES

_UNUSED_SECONDS = 600
"""Time to live of parts that no operation has; the scripts prolong that of others."""


def part_count(size: int) -> int:
    """Return the number of parts of so many bytes."""
    return math.ceil(size / PART_BYTES)


class OperationParts:
    """Reads and writes the bytes of an operation, by a kind and by its id.

    Each part is signed under operation, kind, position and the size of the whole, so that none can
    be changed, moved or left out unnoticed.

    Parameters
    ----------
    scripts : OperationScripts
    prefix : str
        Of all keys.
    signer : Signer
    """

    def __init__(self, scripts: OperationScripts, prefix: str, signer: Signer) -> None:
        self._scripts = scripts
        self._prefix = prefix
        self._signer = signer

    def write(self, operation_id: str, kind: str, content: bytes) -> None:
        """Store all parts; raises OperationStoreError, with some of them stored."""
        view = memoryview(content)
        for number in range(part_count(len(content))):
            part = bytes(view[number * PART_BYTES : (number + 1) * PART_BYTES])
            signed = self._signer.sign(_name(operation_id, kind, number, len(content)), part)
            self._set(self._key(operation_id, kind, number), signed)

    def read(
        self, operation_id: str, kind: str, size: int, offset: int = 0, length: int | None = None
    ) -> bytes | None:
        """Return `length` bytes of a whole of `size` bytes; None if a part is lost or damaged."""
        end = size if length is None else min(size, offset + length)
        first = offset // PART_BYTES
        parts = []
        for number in range(first, part_count(end)):
            part = self._part(operation_id, kind, number, size)
            if part is None:
                return None
            parts.append(part)
        start = offset - first * PART_BYTES
        return b"".join(parts)[start : start + max(0, end - offset)]

    def delete(self, operation_id: str, kind: str, size: int) -> None:
        """Delete all parts."""
        keys = [self._key(operation_id, kind, number) for number in range(part_count(size))]
        if keys:
            self._unlink(keys)

    @contextmanager
    def room_for(self, operation_id: str, kind: str, size: int) -> Iterator[None]:
        """Turn a lack of memory into QUOTA_EXCEEDED, and delete what was stored of the parts."""
        try:
            yield
        except OperationStoreFullError:
            with suppress(OperationStoreError):  # otherwise they expire
                self.delete(operation_id, kind, size)
            what = "request" if kind == "request" else "response"
            message = (
                f"Redis has no memory for the {what} of {size:,} bytes; delete operations, or "
                "start again once others have ended"
            )
            raise ExplainError(Reason.QUOTA_EXCEEDED, message) from None

    def _part(self, operation_id: str, kind: str, number: int, size: int) -> bytes | None:
        key = self._key(operation_id, kind, number)
        signed = self._scripts.ask(lambda redis: value(redis.get(key)))
        name = _name(operation_id, kind, number, size)
        return None if signed is None else self._signer.verify(name, signed)

    def _set(self, key: str, signed: bytes) -> None:
        self._scripts.ask(lambda redis: redis.set(key, signed, ex=_UNUSED_SECONDS))

    def _unlink(self, keys: Iterable[str]) -> None:
        self._scripts.ask(lambda redis: redis.unlink(*keys))

    def _key(self, operation_id: str, kind: str, number: int) -> str:
        return f"{self._prefix}part:{operation_id}:{kind}:{number}"


def _name(operation_id: str, kind: str, number: int, size: int) -> str:
    return f"operation\n{operation_id}\n{kind}\n{number}\n{size}"
