"""Security of calls: bearer tokens and TLS."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias
from urllib.parse import unquote

import grpc

Token: TypeAlias = str | Callable[[], str]
"""Bearer token, or a function that returns the current one; called before each attempt."""

PathLike: TypeAlias = str | Path

# RFC 6750, section 2.1.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


@dataclass(frozen=True, slots=True)
class Security:
    """Credentials and token of a connection.

    Attributes
    ----------
    credentials : grpc.ChannelCredentials or None
        None for an unencrypted channel.
    token : str, callable () -> str, or None
    """

    credentials: grpc.ChannelCredentials | None
    token: Token | None

    def metadata(self) -> tuple[tuple[str, str], ...]:
        """Return the metadata of a call; ValueError for an invalid token."""
        if self.token is None:
            return ()
        return (("authorization", f"Bearer {_checked(self.token)}"),)


def secure(
    endpoint: str,
    *,
    credentials: grpc.ChannelCredentials | None,
    token: Token | None,
    tls: bool,
    ca_file: PathLike | None,
    certificate_file: PathLike | None,
    key_file: PathLike | None,
    allow_unencrypted_token: bool,
) -> Security:
    """Check and combine the arguments of `connect` on security; see there.

    Raises
    ------
    OSError
        Where a file cannot be read.
    ValueError
        Where arguments contradict each other, or a token would be sent unencrypted.
    """
    files = (ca_file, certificate_file, key_file)
    by_files = tls or any(file is not None for file in files)
    if credentials is not None and by_files:
        raise ValueError("give either credentials, or tls and the files for it")
    if (certificate_file is None) != (key_file is None):
        raise ValueError("a client's certificate needs both certificate_file and key_file")
    if by_files:
        credentials = grpc.ssl_channel_credentials(
            _content(ca_file), _content(key_file), _content(certificate_file)
        )
    if token is not None and credentials is None and not allow_unencrypted_token:
        _check_loopback(endpoint)
    if isinstance(token, str):
        _checked(token)
    return Security(credentials, token)


def _content(file: PathLike | None) -> bytes | None:
    return None if file is None else Path(file).read_bytes()


def _checked(token: Token) -> str:
    text = token if isinstance(token, str) else token()
    if not _TOKEN.fullmatch(text):
        # grpc's own error would repeat it.
        raise ValueError("the token is empty, or has characters that no bearer token has")
    return text


def _check_loopback(endpoint: str) -> None:
    if not _is_loopback(endpoint):
        raise ValueError(
            f"the token would go to {endpoint} unencrypted; use tls, or allow_unencrypted_token "
            "where something else encrypts it"
        )


def _is_loopback(endpoint: str) -> bool:
    """Tell whether calls stay on this machine; false if unknown."""
    target = unquote(endpoint)
    if target.startswith("unix:"):
        return True
    for scheme in ("dns:///", "dns:", "ipv4:", "ipv6:"):
        if target.startswith(scheme):
            target = target.removeprefix(scheme)
            break
    # Several addresses, as ipv4: takes them, must all be.
    return all(_is_local(part) for part in target.split(","))


def _is_local(address: str) -> bool:
    bracketed = re.fullmatch(r"\[([^\]]*)\](?::\d+)?", address)
    host = bracketed[1] if bracketed else re.sub(r":\d+$", "", address)
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"
