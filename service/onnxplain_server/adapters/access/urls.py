"""URL checks: addresses that keys for verifying tokens may be fetched from."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit


def is_loopback(host: str) -> bool:
    """Check for a name or address of this machine itself."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def is_safe(url: str) -> bool:
    """Check that no one in between can alter the response: https, or http on this machine."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
        has_port = parts.port != 0
    except ValueError:
        return False
    if not host or not has_port or parts.username is not None or parts.fragment:
        return False
    return parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host))
