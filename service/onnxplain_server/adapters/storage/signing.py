"""Seals for cached values: whoever lacks the secret can neither make nor move one."""

from __future__ import annotations

import hashlib
import hmac
import struct

_HEADER = struct.Struct("<4sB32s")
_MAGIC = b"ONXS"
_VERSION = 1

SIGNATURE_BYTES = _HEADER.size
"""How much longer a sealed value is."""


class Signer:
    """Binds payloads to their names by HMAC-SHA-256; about 1 ms per MB.

    Parameters
    ----------
    secret : bytes
        Known to all processes that share the values, and to nobody else.
    """

    def __init__(self, secret: bytes) -> None:
        self._secret = secret

    def sign(self, name: str, payload: bytes) -> bytes:
        """Return magic, version, code and the payload."""
        return _HEADER.pack(_MAGIC, _VERSION, self._code(name, payload)) + payload

    def verify(self, name: str, sealed: bytes) -> bytes | None:
        """Return the payload; None unless it was sealed under this name and is whole."""
        if len(sealed) < _HEADER.size:
            return None
        magic, version, code = _HEADER.unpack_from(sealed)
        payload = sealed[_HEADER.size :]
        genuine = hmac.compare_digest(code, self._code(name, payload))
        return payload if genuine and (magic, version) == (_MAGIC, _VERSION) else None

    def _code(self, name: str, payload: bytes) -> bytes:
        key = name.encode()
        code = hmac.new(self._secret, struct.pack("<Q", len(key)) + key, hashlib.sha256)
        code.update(payload)
        return code.digest()
