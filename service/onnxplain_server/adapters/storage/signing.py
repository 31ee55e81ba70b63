"""HMAC signing of stored values: binds each value to its name, so none can be forged or moved."""

from __future__ import annotations

import hashlib
import hmac
import struct
from collections.abc import Sequence

_HEADER = struct.Struct("<4sB32s")
_MAGIC = b"ONXS"
_VERSION = 1

SIGNATURE_BYTES = _HEADER.size
"""Length that signing adds to a value."""


class Signer:
    """Signer of payloads under their names by HMAC-SHA-256; about 1 ms per MB.

    Parameters
    ----------
    secret : bytes
        Shared by all processes that share the values, and by nobody else.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def sign(self, name: str, payload: bytes) -> bytes:
        """Return magic, version and signature, followed by the payload."""
        return _HEADER.pack(_MAGIC, _VERSION, self._signature(name, payload)) + payload

    def verify(self, name: str, signed: bytes) -> bytes | None:
        """Return the payload; None unless its signature under this name is valid."""
        if len(signed) < _HEADER.size:
            return None
        magic, version, signature = _HEADER.unpack_from(signed)
        payload = signed[_HEADER.size :]
        is_valid = hmac.compare_digest(signature, self._signature(name, payload))
        return payload if is_valid and (magic, version) == (_MAGIC, _VERSION) else None

    def verify_many(
        self, names: Sequence[str], signed: Sequence[bytes | None]
    ) -> tuple[list[bytes | None], list[str]]:
        """Return the payloads, None for each absent or invalid, and the names of invalid values."""
        payloads, invalid = list[bytes | None](), list[str]()
        for name, value in zip(names, signed, strict=True):
            payloads.append(None if value is None else self.verify(name, value))
            if value is not None and payloads[-1] is None:
                invalid.append(name)
        return payloads, invalid

    def _signature(self, name: str, payload: bytes) -> bytes:
        key = name.encode()
        digest = hmac.new(self._secret, struct.pack("<Q", len(key)) + key, hashlib.sha256)
        digest.update(payload)
        return digest.digest()
