"""Connections to checked addresses: the address that is checked is the one that is connected to.

Names are resolved here alone, once for each connection, so an answer of DNS that changes later
changes nothing.
"""

from __future__ import annotations

import contextlib
import ipaddress
import socket
from collections.abc import Sequence
from typing import TypeAlias

Address: TypeAlias = ipaddress.IPv4Address | ipaddress.IPv6Address
Network: TypeAlias = ipaddress.IPv4Network | ipaddress.IPv6Network

CONNECT_SECONDS = 10.0

_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_OWN = "localhost"


class ForbiddenAddressError(Exception):
    """Refusal of an address that the operator has not named."""


def connect(host: str, port: int, networks: Sequence[Network]) -> socket.socket:
    """Connect to a host, if all its addresses are public, or in these networks.

    A host that is itself an address, or localhost, is what the operator has named exactly.

    Raises
    ------
    ForbiddenAddressError, OSError
    """
    answers = checked_addresses(host, port, networks)
    failure: OSError | None = None
    for family, address in answers:
        try:
            return _connected(family, address, port)
        except OSError as error:
            failure = error
    raise failure or OSError(f"{host} has no address")


def checked_addresses(host: str, port: int, networks: Sequence[Network]) -> list[tuple[int, str]]:
    """Return family and text of each address of a host; errors as of `connect`."""
    answers = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    found: list[tuple[int, str]] = [(family, str(where[0])) for family, _, _, _, where in answers]
    for _, address in found:
        if not is_allowed(host, ipaddress.ip_address(address), networks):
            raise ForbiddenAddressError(
                f"the name {host} leads to {address}, which is no public address and in no network "
                "that the operator lists for it"
            )
    return found


def is_allowed(host: str, address: Address, networks: Sequence[Network]) -> bool:
    """Return whether a connection to an address of a host may be made."""
    with contextlib.suppress(ValueError):
        return ipaddress.ip_address(host) == address
    if any(address in network for network in networks):
        return True
    if host == _OWN:
        return address.is_loopback
    return all(_is_public(inner) for inner in _meant(address))


def _is_public(address: Address) -> bool:
    return address.is_global and not address.is_multicast


def _meant(address: Address) -> Sequence[Address]:
    """Return an address, and the IPv4 address that it carries."""
    if isinstance(address, ipaddress.IPv4Address):
        return (address,)
    if address.ipv4_mapped:
        return (address.ipv4_mapped,)
    teredo = address.teredo
    carried = (address.sixtofour, *(teredo or ()))
    embedded = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF) if address in _NAT64 else None
    return (address, *(inner for inner in (*carried, embedded) if inner))


def _connected(family: int, address: str, port: int) -> socket.socket:
    connection = socket.socket(family, socket.SOCK_STREAM)
    try:
        connection.settimeout(CONNECT_SECONDS)
        connection.connect((address, port))
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    except OSError:
        connection.close()
        raise
    return connection
