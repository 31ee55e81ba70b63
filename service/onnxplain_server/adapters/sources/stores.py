"""Stores of obstore: built for one prefix, with its credentials, behind the guard."""

from __future__ import annotations

import configparser
import os
import ssl
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any

from obstore.store import GCSStore, HTTPStore, S3Store

from onnxplain_server.adapters.sources.connections.guard import Guard
from onnxplain_server.adapters.sources.connections.platform_identity import (
    credential_tunnels,
    credential_upstreams,
)
from onnxplain_server.adapters.sources.connections.upstream import GuardSession, Upstream
from onnxplain_server.adapters.sources.source_list import SourceEntry
from onnxplain_server.core.errors import ExplainError, Reason

_RETRY_COUNT = 6
_AUTHORIZATION = ("Bearer ", "Basic ")
_ENVIRONMENT = threading.Lock()
_PLATFORM_VARIABLES = ("AWS_", "GOOGLE_")


@contextmanager
def guarded(guard: Guard, entry: SourceEntry) -> Iterator[GuardSession]:
    """Open a session of the guard for the endpoint of a prefix."""
    is_tls, host, port = entry.address
    tls = tls_context(entry.ca_file) if is_tls else None
    upstream = Upstream(host, port, tls, entry.networks, _authorization(entry))
    upstreams = {_plain_authority(entry): upstream}
    tunnels: Mapping[str, Upstream] = {}
    if entry.identity == "platform":
        upstreams |= credential_upstreams()
        tunnels = credential_tunnels(entry.region)
    with guard.session(upstreams, tunnels) as session:
        yield session


def _plain_authority(entry: SourceEntry) -> str:
    """Return the endpoint's host and port as in a URL of plain HTTP: that of 443 has none."""
    is_tls, host, port = entry.address
    host = f"[{host}]" if ":" in host else host
    return host if port == (443 if is_tls else 80) else f"{host}:{port}"


@lru_cache
def tls_context(ca_file: str) -> ssl.SSLContext:
    """Return the certificates to trust: the system's, and those of a file; read once."""
    context = ssl.create_default_context()
    if ca_file:
        context.load_verify_locations(ca_file)
    return context


def _authorization(entry: SourceEntry) -> str:
    """Return the header Authorization of web servers: the content of the credentials' file."""
    if not entry.credentials_file or entry.prefix.scheme not in {"https", "models"}:
        return ""
    text = Path(entry.credentials_file).read_text(encoding="utf-8").strip()
    if not text.startswith(_AUTHORIZATION) or not text.isprintable():
        raise ExplainError(
            Reason.SOURCE_FORBIDDEN,
            f'the credentials of the prefix "{entry.prefix}" are no line that begins with Bearer '
            "or Basic; tell the operator",
        )
    return text


def build_store(entry: SourceEntry, session: GuardSession, seconds: float) -> Any:
    """Make obstore's store of a prefix, through the guard."""
    common: dict[str, Any] = {
        "client_options": {
            "allow_http": True,
            "proxy_url": session.proxy_url,
            "timeout": timedelta(seconds=seconds),
        },
        "retry_config": {
            "max_retries": _RETRY_COUNT,
            "retry_timeout": timedelta(seconds=seconds),
        },
    }
    url = f"http://{_plain_authority(entry)}{entry.base_path}"
    bucket = entry.prefix.authority
    with _environment(has_identity=entry.identity == "platform"):
        match entry.prefix.scheme:
            case "s3":
                options = {"endpoint": url, "region": entry.region, **_s3_keys(entry)}
                return S3Store(bucket, virtual_hosted_style_request=False, **options, **common)
            case "gs":
                return GCSStore(bucket, base_url=url, **_google_keys(entry), **common)
            case _:
                return HTTPStore(url, **common)


@contextmanager
def _environment(*, has_identity: bool) -> Iterator[None]:
    """Hide the platform's identity from a store that shall not use it: obstore reads variables."""
    with _ENVIRONMENT:
        hidden = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(_PLATFORM_VARIABLES) and not has_identity
        }
        for name in hidden:
            del os.environ[name]
        try:
            yield
        finally:
            os.environ.update(hidden)


def _s3_keys(entry: SourceEntry) -> Mapping[str, Any]:
    if entry.identity == "platform":
        return {}
    if not entry.credentials_file:
        return {"skip_signature": True}
    parser = configparser.ConfigParser(interpolation=None)
    try:
        parser.read_string(Path(entry.credentials_file).read_text(encoding="utf-8"))
        section = parser["default"]
        keys = {
            "access_key_id": section["aws_access_key_id"],
            "secret_access_key": section["aws_secret_access_key"],
        }
    except (configparser.Error, KeyError, OSError, UnicodeDecodeError):
        raise ExplainError(
            Reason.SOURCE_FORBIDDEN,
            f'the credentials of the prefix "{entry.prefix}" cannot be read as those of AWS, with '
            "a section [default]; tell the operator",
        ) from None
    token = section.get("aws_session_token")
    return keys | ({"session_token": token} if token else {})


def _google_keys(entry: SourceEntry) -> Mapping[str, Any]:
    if entry.identity == "platform":
        return {}
    if not entry.credentials_file:
        return {"skip_signature": True}
    return {"service_account_key": Path(entry.credentials_file).read_text(encoding="utf-8")}
