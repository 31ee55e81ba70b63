"""Network addresses of callers, as precise as anonymous callers are told apart: IPv6 by its /64."""

from __future__ import annotations

import ipaddress
from urllib.parse import unquote

_IPV6_BITS = 64


def of_peer(peer: str) -> str:
    """Return the network in gRPC's name of a peer, like "ipv4:10.0.0.1:4711"."""
    kind, _, rest = peer.partition(":")
    if kind not in {"ipv4", "ipv6"}:
        return peer
    return network(unquote(rest).rpartition(":")[0].strip("[]"))


def network(text: str) -> str:
    """Return an IPv4 address, the /64 network of an IPv6 address, or other text unchanged.

    One caller usually has all IPv6 addresses with the same first 64 bits.
    """
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        return text
    if isinstance(address, ipaddress.IPv4Address):
        return str(address)
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((int(address), _IPV6_BITS), strict=False).network_address)
