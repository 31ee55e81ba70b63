"""Security headers of every REST response, and the WWW-Authenticate challenge (RFC 6750)."""

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
        # Responses are for one caller.
        "Cache-Control": "no-store",
    }
)
"""For browsers: nothing may be rendered, stored or embedded."""


def challenge(fault: str, *, sent: bool) -> str:
    """Return the value of WWW-Authenticate, as in RFC 6750, section 3.

    Parameters
    ----------
    fault : str
        Description of the error, for people.
    sent : bool
        Whether the request had an authorization; without one, no error is reported.
    """
    realm = 'Bearer realm="onnxplain"'
    if not sent:
        return realm
    described = "".join(
        c if c.isascii() and c.isprintable() and c not in '"\\' else "'" for c in fault
    )
    return f'{realm}, error="invalid_token", error_description="{described}"'
