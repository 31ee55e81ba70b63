"""Which addresses may be asked for the keys that tokens are verified with."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Whether a name or address is this machine's own."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_safe(url: str) -> bool:
    """Whether nobody on the way can change what comes from there."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        has_port = parts.port != 0
    except ValueError:
        return False
    if not host or not has_port or parts.username is not None or parts.fragment:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
