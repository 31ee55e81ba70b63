"""Types of settings that need more than a range."""

from __future__ import annotations

from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, ByteSize, Field, SecretStr, StringConstraints

from onnxplain_server.adapters.access.urls import is_safe

Port = Annotated[int, Field(ge=0, le=65535)]

# gRPC counts the bytes of a message in 32 bits.
MessageSize = Annotated[ByteSize, Field(ge=2**16, le=2**31 - 1)]

_ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)


def redis_url(given: SecretStr) -> SecretStr:
    """Return an address of Redis; raises ValueError with the rule where it is none."""
    if not _is_redis_url(given.get_secret_value()):
        raise ValueError('must look like "redis://host:6379/0", rediss://... or unix://...')
    return given


def _is_redis_url(text: str) -> bool:
    parts = urlsplit(text)
    try:
        is_port = parts.port != 0
    except ValueError:
        return False
    if parts.scheme == "unix":
        return bool(parts.path)
    return is_port and bool(parts.hostname) and parts.scheme in {"redis", "rediss"}


def _safe_url(given: str) -> str:
    if not is_safe(given):
        raise ValueError("must be an https:// address; http:// is for this machine only")
    return given


def _algorithms(given: str) -> str:
    names = [name.strip() for name in given.split(",")]
    if not set(names) <= set(_ALGORITHMS):
        # Without signature, or with a shared secret, anybody who may verify could forge.
        raise ValueError(f"must be some of {', '.join(_ALGORITHMS)}, with commas between them")
    return ",".join(dict.fromkeys(names))


RedisUrl = Annotated[SecretStr, AfterValidator(redis_url)]
SafeUrl = Annotated[str, AfterValidator(_safe_url)]
Algorithms = Annotated[str, AfterValidator(_algorithms)]
Text = Annotated[str, StringConstraints(min_length=1)]
