"""Where callers ask from, as precisely as it tells them apart."""

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


def network(address: str) -> str:
    """Return an address of version 4, the network of one of version 6, or other text as it is.

    One caller has all addresses of version 6 that share their first 64 bits.
    """
    try:
        known = ipaddress.ip_address(address)
    except ValueError:
        return address
    if isinstance(known, ipaddress.IPv4Address):
        return str(known)
    if known.ipv4_mapped is not None:
        return str(known.ipv4_mapped)
    return str(ipaddress.ip_network((int(known), _IPV6_BITS), strict=False).network_address)
