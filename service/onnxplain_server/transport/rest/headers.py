"""Headers of every REST answer, refusals too, and those that say what a caller must send."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

SECURITY: Mapping[str, str] = MappingProxyType(
    {
        "X-Content-Type-Options": "nosniff",
        "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        # Answers are for one caller.
        "Cache-Control": "no-store",
    }
)
"""For browsers that somebody points at the service: show, keep and pass on nothing."""


def challenge(fault: str, *, sent: bool) -> str:
    """Return WWW-Authenticate as RFC 6750, section 3, has it.

    Parameters
    ----------
    fault : str
        What is wrong, for people.
    sent : bool
        Whether there was an authorization; without one, there is no error.
    """
    realm = 'Bearer realm="onnxplain"'
    if not sent:
        return realm
    described = "".join(
        c if c.isascii() and c.isprintable() and c not in '"\\' else "'" for c in fault
    )
    return f'{realm}, error="invalid_token", error_description="{described}"'
