"""Types of settings whose validation needs more than a range: URLs, host names, JWT algorithms."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, ByteSize, Field, SecretStr, StringConstraints, WithJsonSchema

from onnxplain_server.adapters.access.urls import is_safe

Port = Annotated[int, Field(ge=0, le=65535)]

# gRPC message sizes are 32-bit integers.
MessageSize = Annotated[ByteSize, Field(ge=2**16, le=2**31 - 1)]

_ALGORITHMS = (
    *("RS256", "RS384", "RS512", "PS256", "PS384", "PS512"),
    *("ES256", "ES384", "ES512", "EdDSA"),
)

_HOST_NAME = re.compile(r"\*|\.?[a-z0-9_-]+(\.[a-z0-9_-]+)*|\[[0-9a-f:.]+\]")
# Also of browser extensions and of web views: their schemes differ.
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]+)?")


_SCHEDULER = re.compile(r"(tcp|tls)://([A-Za-z0-9._-]+|\[[0-9A-Fa-f:.]+\]):[0-9]{1,5}")


def _scheduler(text: str) -> str:
    if not _SCHEDULER.fullmatch(text):
        raise ValueError("must look like tcp://HOST:PORT or tls://HOST:PORT")
    return text


SchedulerAddress = Annotated[
    str,
    AfterValidator(_scheduler),
    WithJsonSchema({"type": "string", "pattern": f"^{_SCHEDULER.pattern}$"}),
]


def redis_url(url: SecretStr) -> SecretStr:
    """Validate a Redis URL; ValueError names the rule."""
    if not _is_redis_url(url.get_secret_value()):
        raise ValueError('must look like "redis://host:6379/0", rediss://... or unix://...')
    return url


def _is_redis_url(text: str) -> bool:
    parts = urlsplit(text)
    try:
        is_port = parts.port != 0
    except ValueError:
        return False
    if parts.scheme == "unix":
        return bool(parts.path)
    return is_port and bool(parts.hostname) and parts.scheme in {"redis", "rediss"}


def _safe_url(url: str) -> str:
    if not is_safe(url):
        raise ValueError("must be an https:// address; http:// is for this machine only")
    return url


def _algorithms(text: str) -> str:
    names = [name.strip() for name in text.split(",")]
    if not set(names) <= set(_ALGORITHMS):
        # Unsigned tokens and shared-secret algorithms: whoever can verify could also forge.
        raise ValueError(f"must be a comma-separated list of {', '.join(_ALGORITHMS)}")
    return ",".join(dict.fromkeys(names))


def _hosts(text: str) -> str:
    hosts = [host.strip().lower() for host in text.split(",")]
    if not all(map(_HOST_NAME.fullmatch, hosts)):
        raise ValueError(
            'must be host names without port, such as "example.com,.example.org", or "*"'
        )
    return ",".join(hosts)


def _origins(text: str) -> str:
    origins = [origin.strip().lower() for origin in text.split(",")]
    if not all(map(_ORIGIN.fullmatch, origins)):
        raise ValueError(
            'must be origins with scheme and without path, such as "https://app.example.com"'
        )
    return ",".join(origins)


def _callers(text: str) -> str:
    names = [name.strip() for name in text.split(",")]
    if not all(names):
        raise ValueError('must be names of callers, such as "token:team-a,token:team-b"')
    return ",".join(dict.fromkeys(names))


def _column_names(text: str) -> str:
    names = [name.strip() for name in text.split(",")]
    if not all(names) or len(set(names)) < len(names):
        raise ValueError('must be names of columns, none twice, such as "age,income"')
    return ",".join(names)


RedisUrl = Annotated[SecretStr, AfterValidator(redis_url)]
SafeUrl = Annotated[str, AfterValidator(_safe_url)]
Algorithms = Annotated[str, AfterValidator(_algorithms)]
Hosts = Annotated[str, AfterValidator(_hosts)]
Origins = Annotated[str, AfterValidator(_origins)]
Text = Annotated[str, StringConstraints(min_length=1)]
Callers = Annotated[str, AfterValidator(_callers)]
ColumnNames = Annotated[str, AfterValidator(_column_names)]
ModelName = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,252}$")]
