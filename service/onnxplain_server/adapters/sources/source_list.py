"""List of the prefixes that a server reads from, as its operator writes it; see docs/sources.md."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from onnxplain_server.adapters.network_processes.list_file import Network, networks, read_entries
from onnxplain_server.adapters.sources.canonical_uri import (
    HTTPS_PORT,
    CanonicalUri,
    canonical_prefix,
)
from onnxplain_server.core.errors import ExplainError, Reason

_REGION = re.compile(r"[a-z0-9-]{1,40}")
_ENDPOINT = re.compile(r"(https?)://([^/]+)(/[^?#]*)?")
_SCHEMES = frozenset({"s3", "gs", "https", "models"})
ANY_NETWORK = (ipaddress.ip_network("0.0.0.0/0"), ipaddress.ip_network("::/0"))


@dataclass(frozen=True, slots=True)
class SourceEntry:
    """Prefix that a server reads from, and how.

    Attributes
    ----------
    prefix : CanonicalUri
    endpoint : str
        "https://HOST:PORT/PATH" or "http://...", without a slash at the end; empty for a file.
    region : str
        Of s3.
    credentials_file : str
        Empty: none.
    identity : str
        "platform" or "none".
    ca_file : str
        Further certificates to trust; empty: the system's alone.
    networks : tuple of networks
        Private addresses that the endpoint may have.
    byte_limit : int or None
        Largest file, if less than the server's limits.
    is_writable : bool
        Whether results may be written.
    """

    prefix: CanonicalUri
    endpoint: str
    region: str = "us-east-1"
    credentials_file: str = ""
    identity: str = "none"
    ca_file: str = ""
    networks: tuple[Network, ...] = ()
    byte_limit: int | None = None
    is_writable: bool = False

    @property
    def address(self) -> tuple[bool, str, int]:
        """Endpoint as (speaks TLS, host without brackets, port)."""
        return endpoint_address(self.endpoint)

    @property
    def base_path(self) -> str:
        """Path of the endpoint, without a slash at the end; mostly empty."""
        match = _ENDPOINT.fullmatch(self.endpoint)
        return (match[3] or "") if match else ""


@dataclass(frozen=True, slots=True)
class SourceList:
    """Prefixes that may be read.

    Attributes
    ----------
    entries : tuple of SourceEntry
    is_local : bool
        Whether callers are the owner of this process: then all is readable that its user may read.
    defaults : mapping of scheme to (endpoint, region)
        Of addresses without an entry, in a local list; an empty endpoint is that of the store.
    """

    entries: tuple[SourceEntry, ...] = ()
    is_local: bool = False
    defaults: Mapping[str, tuple[str, str]] = field(default_factory=dict)

    def find(
        self, uri: CanonicalUri, field_name: str = "", *, for_writing: bool = False
    ) -> SourceEntry:
        """Return the longest prefix above an address; SOURCE_NOT_LISTED."""
        above = [entry for entry in self.entries if uri.is_below(entry.prefix)]
        if above:
            entry = max(above, key=lambda entry: len(entry.prefix.segments))
            if for_writing and not entry.is_writable:
                raise ExplainError(
                    Reason.SOURCE_NOT_LISTED,
                    f'the prefix "{entry.prefix}" is listed for reading only; choose another '
                    "result_uri, or have the operator set write = true there",
                    field_name,
                )
            return entry
        if self.is_local and uri.scheme != "models":
            return self._local_entry(uri)
        raise not_listed(uri, field_name, "write" if for_writing else "read")

    def _local_entry(self, uri: CanonicalUri) -> SourceEntry:
        endpoint, region = self.defaults.get(uri.scheme, ("", "us-east-1"))
        return SourceEntry(
            uri,
            _endpoint_of(uri, endpoint, region),
            region,
            identity="platform" if uri.scheme in {"s3", "gs"} else "none",
            networks=ANY_NETWORK,
            is_writable=uri.scheme != "https",
        )


def not_listed(uri: CanonicalUri, field: str, action: str = "read") -> ExplainError:
    """Return the SOURCE_NOT_LISTED error of an action, "read" or "write"."""
    remedy = "or send the file itself" if action == "read" else "with write = true"
    return ExplainError(
        Reason.SOURCE_NOT_LISTED,
        f'this server may not {action} "{uri}": its operator lists the prefixes that it may use in '
        f"the file of the setting sources_file. Have the prefix listed, {remedy}",
        field,
    )


def endpoint_address(endpoint: str) -> tuple[bool, str, int]:
    """Split "https://HOST:PORT": whether it speaks TLS, the host without brackets, and the port."""
    match = _ENDPOINT.fullmatch(endpoint)
    if match is None:
        return False, "", 0
    is_tls = match[1] == "https"
    authority = match[2]
    host, _, port = authority.rpartition(":")
    if not host or authority.endswith("]"):
        host, port = authority, str(HTTPS_PORT if is_tls else 80)
    return is_tls, host.strip("[]"), int(port)


def read_source_list(path: Path) -> SourceList:
    """Read the operator's list; ListError."""
    return SourceList(read_entries(path, "source", _KEYS, _checked))


_KEYS: Mapping[str, type] = {
    "prefix": str,
    "endpoint": str,
    "region": str,
    "credentials_file": str,
    "identity": str,
    "ca_file": str,
    "networks": list,
    "max_bytes": int,
    "write": bool,
}


def _checked(table: Mapping[str, Any]) -> SourceEntry:
    try:
        prefix = canonical_prefix(table["prefix"])
    except ValueError as error:
        raise ValueError(f"prefix = {table['prefix']} {error}") from None
    if prefix.scheme not in _SCHEMES:
        raise ValueError("prefix must begin with s3://, gs://, https:// or models:/")
    entry = SourceEntry(
        prefix,
        _endpoint_of(prefix, table.get("endpoint", ""), table.get("region", "us-east-1")),
        table.get("region", "us-east-1"),
        table.get("credentials_file", ""),
        table.get("identity", "none"),
        table.get("ca_file", ""),
        networks(table.get("networks", [])),
        table.get("max_bytes"),
        table.get("write", False),
    )
    _check(entry, table)
    return entry


def _check(entry: SourceEntry, table: Mapping[str, Any]) -> None:
    scheme = entry.prefix.scheme
    if not _REGION.fullmatch(entry.region):
        raise ValueError("region must look like eu-central-1")
    if "region" in table and scheme != "s3":
        raise ValueError("region is for s3 only")
    if entry.identity not in {"platform", "none"}:
        raise ValueError('identity must be "platform" or "none"')
    if entry.identity == "platform" and (entry.credentials_file or scheme not in {"s3", "gs"}):
        raise ValueError('identity = "platform" is for s3 and gs, without a credentials_file')
    if entry.is_writable and scheme not in {"s3", "gs"}:
        raise ValueError("write is for s3 and gs only")
    if entry.byte_limit is not None and entry.byte_limit < 1:
        raise ValueError("max_bytes must be at least 1")


def _endpoint_of(prefix: CanonicalUri, endpoint: str, region: str = "us-east-1") -> str:
    """Return the endpoint of a prefix: the given one, or that of the store."""
    match prefix.scheme:
        case "https":
            if endpoint:
                raise ValueError("an https prefix is its own endpoint")
            return f"https://{prefix.authority}"
        case "file":
            return ""
        case "models" if not endpoint:
            raise ValueError("a prefix models:/ needs the endpoint of the MLflow server")
        case "gs" if not endpoint:
            return "https://storage.googleapis.com"
        case "s3" if not endpoint:
            return f"https://s3.{region}.amazonaws.com"
    return checked_endpoint(endpoint)


def checked_endpoint(endpoint: str) -> str:
    """Return an endpoint in its canonical form, without a slash at the end; ValueError."""
    match = _ENDPOINT.fullmatch(endpoint)
    fault = ValueError(f"endpoint = {endpoint} must look like https://HOST or http://HOST:PORT")
    if match is None:
        raise fault
    try:
        checked = canonical_prefix(f"https://{match[2]}{match[3] or '/'}")
    except ValueError:
        raise fault from None
    path = f"/{checked.path}".rstrip("/")
    return f"{match[1]}://{checked.authority if match[1] == 'https' else match[2].lower()}{path}"
