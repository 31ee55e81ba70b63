"""List of the remote models that a server asks, by its operator; see docs/remote-models.md."""

from __future__ import annotations

import base64
import ipaddress
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from onnxplain_server.adapters.access.watched_files import FileError
from onnxplain_server.adapters.network_processes.list_file import Network, networks, read_entries
from onnxplain_server.adapters.remote.policy import RemotePolicy
from onnxplain_server.adapters.sources.canonical_uri import (
    WEB_PORTS,
    CanonicalUri,
    canonical,
    canonical_prefix,
)
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.remote.listing import URI_FIELD, not_listed

SCHEMES = ("http", "https", "grpc", "grpcs")

_LINK_LOCAL = (
    *map(ipaddress.ip_network, ("169.254.0.0/16", "fe80::/10")),
    ipaddress.ip_network("fd00:ec2::254/128"),
)
"""Metadata services of clouds answer there; no model does."""

_USUAL = RemotePolicy()
_PLAIN = ("Bearer ", "Basic ")
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+")
_OTHER_PLACES = re.compile(r"[/\\;%]")
_CALL_LIMIT = 256
_ROW_LIMIT = 1_000_000


@dataclass(frozen=True, slots=True)
class RemoteEntry:
    """Prefix of remote models, and how they are asked.

    Attributes
    ----------
    prefix : CanonicalUri
        Without a slash at the end.
    credentials_file : str
        Empty: none.
    ca_file : str
        Further certificates to trust; empty: the system's alone.
    networks : tuple of networks
        Private addresses that the host may have.
    call_count : int
        Calls at a time, over all requests and workers.
    calls_per_second : float
        Over all requests and workers; may be infinite.
    row_limit : int
        Rows of a call.
    timeout_seconds : float
        Time for a call, without its repetitions.
    """

    prefix: CanonicalUri
    credentials_file: str = ""
    ca_file: str = ""
    networks: tuple[Network, ...] = ()
    call_count: int = _USUAL.call_count
    calls_per_second: float = _USUAL.calls_per_second
    row_limit: int = _USUAL.row_limit
    timeout_seconds: float = _USUAL.timeout_seconds

    @property
    def port(self) -> int:
        """Port of the host."""
        host, _, port = self.prefix.authority.rpartition(":")
        own = WEB_PORTS[self.prefix.scheme]
        is_whole = not host or self.prefix.authority.endswith("]")
        return int(own or 0) if is_whole else int(port)


@dataclass(frozen=True, slots=True)
class RemoteList:
    """Prefixes of the remote models that may be asked."""

    entries: tuple[RemoteEntry, ...] = ()

    def find(self, uri: str, name: str = "", version: str = "") -> tuple[str, RemoteEntry]:
        """Return an address in its canonical form, and the longest prefix above it.

        Parameters
        ----------
        uri : str
        name, version : str
            Of the model, which stand in the path of calls.

        Raises
        ------
        ExplainError
            INVALID_REQUEST with the rule that is broken; REMOTE_MODEL_NOT_LISTED.
        """
        _check_part(name, "name")
        _check_part(version, "version")
        found = _without_slash(canonical(uri, URI_FIELD, SCHEMES))
        above = [entry for entry in self.entries if found.is_below(entry.prefix)]
        if not above:
            raise not_listed(str(found))
        return _text(found), max(above, key=lambda entry: len(entry.prefix.segments))


def _check_part(text: str, field: str) -> None:
    """Refuse a name or version that would lead elsewhere as part of a path."""
    if text in {".", ".."} or _OTHER_PLACES.search(text) or not text.isprintable():
        raise ExplainError(
            Reason.INVALID_REQUEST,
            f"the {field} of a remote model must not be . or .., and must have no slashes, "
            "backslashes, semicolons, % and control characters",
            f"model.remote.{field}",
        )


def remote_prefix(uri: str) -> CanonicalUri:
    """Return the canonical form of a prefix, without a slash at the end; ValueError."""
    return _without_slash(canonical_prefix(uri, SCHEMES))


def read_remote_list(path: Path) -> RemoteList:
    """Read the operator's list; ListError."""
    return RemoteList(read_entries(path, "remote_model", _KEYS, _checked))


def authorization(contents: Sequence[bytes]) -> str:
    """Return the header Authorization for the content of a file of credentials; FileError."""
    try:
        text = contents[0].decode("utf-8").strip()
    except UnicodeDecodeError:
        text = ""
    if text.startswith(_PLAIN) and text.isascii() and text.isprintable():
        return text
    if _TOKEN.fullmatch(text):
        return f"Bearer {text}"
    user, colon, _ = text.partition(":")
    if colon and user and text.isprintable():
        return f"Basic {base64.b64encode(text.encode()).decode()}"
    raise FileError("a file of credentials must hold one line: a token, or user:password")


def display_prefix(entry: RemoteEntry) -> str:
    """Return a prefix as metrics and messages show it."""
    return _text(entry.prefix)


_KEYS: Mapping[str, type] = {
    "prefix": str,
    "credentials_file": str,
    "ca_file": str,
    "networks": list,
    "calls": int,
    "calls_per_second": float,
    "rows_per_call": int,
    "timeout_seconds": float,
}


def _checked(table: Mapping[str, Any]) -> RemoteEntry:
    try:
        prefix = remote_prefix(table["prefix"])
    except ValueError as error:
        raise ValueError(f"prefix = {table['prefix']} {error}") from None
    usual = RemoteEntry(prefix)
    entry = RemoteEntry(
        prefix,
        table.get("credentials_file", ""),
        table.get("ca_file", ""),
        networks(table.get("networks", [])),
        table.get("calls", usual.call_count),
        float(table.get("calls_per_second", usual.calls_per_second)),
        table.get("rows_per_call", usual.row_limit),
        float(table.get("timeout_seconds", usual.timeout_seconds)),
    )
    _check(entry)
    return entry


def _check(entry: RemoteEntry) -> None:
    scheme = entry.prefix.scheme
    if scheme in {"grpc", "grpcs"} and entry.prefix.segments:
        raise ValueError(f"a prefix of {scheme} has no path")
    if entry.ca_file and scheme not in {"https", "grpcs"}:
        raise ValueError("ca_file is for https and grpcs only")
    if any(_is_link_local(network) for network in (*entry.networks, *_literal(entry))):
        raise ValueError(
            "prefix and networks must have no link-local addresses, where metadata services are"
        )
    for key, value, most in (
        ("calls", entry.call_count, _CALL_LIMIT),
        ("rows_per_call", entry.row_limit, _ROW_LIMIT),
    ):
        if not 1 <= value <= most:
            raise ValueError(f"{key} must be between 1 and {most:,}")
    if not entry.calls_per_second > 0:
        raise ValueError("calls_per_second must be more than 0")
    if not 0 < entry.timeout_seconds <= 86_400:
        raise ValueError("timeout_seconds must be more than 0, and at most 86,400")


def _literal(entry: RemoteEntry) -> tuple[Network, ...]:
    """Return the address of a prefix whose host is one, as a network."""
    host = entry.prefix.authority.removesuffix(f":{entry.port}").strip("[]")
    try:
        return (ipaddress.ip_network(host),)
    except ValueError:
        return ()


def _is_link_local(network: Network) -> bool:
    return any(
        network.version == other.version and network.overlaps(other) for other in _LINK_LOCAL
    )


def _without_slash(uri: CanonicalUri) -> CanonicalUri:
    return replace(uri, is_folder=False)


def _text(uri: CanonicalUri) -> str:
    return str(uri).rstrip("/")
