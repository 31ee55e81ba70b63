"""URL checks: addresses of an OpenID provider that may be asked for keys and tokens."""

from __future__ import annotations

import ipaddress
import re
from urllib.parse import urlsplit

_HOST = re.compile(r"[A-Za-z0-9.-]+|\[[0-9A-Fa-f:.]+\]")
"""Letters of host names and of IPv6 addresses: nothing that a header could take for its own."""


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


def safe_origin(url: object) -> str:
    """Return the origin of a safe URL; empty for anything else."""
    if not isinstance(url, str) or not is_safe(url):
        return ""
    parts = urlsplit(url)
    host, port = parts.hostname or "", parts.port
    host = f"[{host}]" if ":" in host else host
    if not _HOST.fullmatch(host):
        return ""
    return f"{parts.scheme}://{host}" if port is None else f"{parts.scheme}://{host}:{port}"
