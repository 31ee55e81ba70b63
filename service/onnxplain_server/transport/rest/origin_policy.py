"""Host and Origin of HTTP requests: DNS rebinding, requests of foreign web pages, and CORS.

Requests are refused by their headers, before the body is read: Flask-CORS and the trusted hosts of
Werkzeug look at a request once waitress has received all of it.
"""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from http import HTTPStatus

from waitress.utilities import BadRequest, Error

ANY_HOST = "*"
"""Entry of `hosts` that allows every Host."""

# RFC 9110, section 7.2: a name or an address, and a port. No comma: waitress joins two headers
# by one.
_HOST = re.compile(r"(?P<name>\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._~%!$&'()*+;=-]*)(?::[0-9]*)?")
_DEFAULT_PORTS = {"http": ":80", "https": ":443"}
# These methods change nothing and compute nothing.
_SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
_EXPOSED = "Retry-After, WWW-Authenticate, X-Request-Id"


class ForbiddenError(Error):  # type: ignore[misc] # waitress ships no types
    """The request comes from a web page of an origin that is not allowed."""

    code = HTTPStatus.FORBIDDEN.value
    reason = HTTPStatus.FORBIDDEN.phrase


class MisdirectedError(Error):  # type: ignore[misc] # waitress ships no types
    """The Host is not allowed (RFC 9110, section 15.5.20)."""

    code = HTTPStatus.MISDIRECTED_REQUEST.value
    reason = HTTPStatus.MISDIRECTED_REQUEST.phrase


@dataclass(frozen=True, slots=True)
class OriginPolicy:
    """Hosts and origins that an HTTP server accepts.

    Attributes
    ----------
    hosts : tuple of str
        Host names in lower case, without port; ".example.com" stands for that name and all names
        below it, "*" for all. `localhost` and IP addresses are always accepted: a DNS answer
        cannot redirect them. If empty, all are accepted, unless `is_local`.
    origins : frozenset of str
        Origins of web pages in lower case, like "https://app.example.com", whose requests are
        accepted and which may read the answers (CORS). A page of the server's own origin always
        may.
    is_local : bool
        Whether the server listens on a loopback address only.
    """

    hosts: tuple[str, ...] = ()
    origins: frozenset[str] = frozenset()
    is_local: bool = False

    @classmethod
    def of(cls, hosts: str | None, origins: str | None) -> OriginPolicy:
        """Make a policy of the settings `allowed_hosts` and `allowed_origins`."""
        return cls(tuple(_entries(hosts)), frozenset(_entries(origins)))

    def bound_to(self, address: str) -> OriginPolicy:
        """Return the policy of a server that listens on this IP address."""
        return replace(self, is_local=ipaddress.ip_address(address).is_loopback)

    def refusal(
        self, method: str, version: str, authority: str, headers: Mapping[str, str]
    ) -> Error | None:
        """Return the error of a request that must be refused, or None.

        Parameters
        ----------
        method : str
        version : str
            Of HTTP, like "1.1".
        authority : str
            Host of an absolute request target, which replaces the header; may be empty.
        headers : mapping of str to str
            By names as in WSGI: upper case with underscores.
        """
        host = headers.get("HOST")
        if host is None and version == "1.1":
            return BadRequest("an HTTP/1.1 request needs a Host header")
        parts = [_HOST.fullmatch(text) for text in (host or "", authority)]
        if None in parts:
            return BadRequest("the request needs one Host header, with a host name or an address")
        asked = (authority or host or "").lower()
        if (host is not None or authority) and not self._accepts_host(asked):
            return MisdirectedError(
                "this server does not answer under that host name. Use localhost or an IP address,"
                " or add the name to ONNXPLAIN_ALLOWED_HOSTS (--allowed-hosts)"
            )
        if method not in _SAFE_METHODS and self._is_foreign(asked, headers):
            return ForbiddenError(
                "web pages of other origins cannot use this server, unless their origin is in"
                " ONNXPLAIN_ALLOWED_ORIGINS (--allowed-origins)"
            )
        return None

    def cors_headers(self, origin: str | None) -> dict[str, str]:
        """Return the headers by which a browser lets a page of this origin read the answer."""
        if not self.origins:
            return {}
        headers = {"Vary": "Origin"}
        if origin is not None and origin.lower() in self.origins:
            headers["Access-Control-Allow-Origin"] = origin
            headers["Access-Control-Expose-Headers"] = _EXPOSED
        return headers

    def _accepts_host(self, host: str) -> bool:
        match = _HOST.fullmatch(host)
        name = "" if match is None else match["name"]
        if name == "localhost" or _is_address(name):
            return True
        if not self.hosts:
            return not self.is_local
        return any(_matches(name, entry) for entry in self.hosts)

    def _is_foreign(self, host: str, headers: Mapping[str, str]) -> bool:
        """Return whether a web page of another origin sends the request.

        As Go's net/http.CrossOriginProtection: by Sec-Fetch-Site, which a page cannot set, else by
        Origin. A request with neither does not come from a web page.
        """
        origin = headers.get("ORIGIN", "").lower()
        if origin in self.origins:
            return False
        if site := headers.get("SEC_FETCH_SITE"):
            return site not in {"same-origin", "none"}
        scheme, _, authority = origin.partition("://")
        return bool(origin) and authority != host.removesuffix(_DEFAULT_PORTS.get(scheme, ""))


OWN_ORIGIN = OriginPolicy()
"""Accepts every host, and pages of the server's own origin only."""


def _entries(setting: str | None) -> Iterable[str]:
    return filter(None, (setting or "").split(","))


def _matches(name: str, entry: str) -> bool:
    if entry.startswith("."):
        return name == entry[1:] or name.endswith(entry)
    return entry in {name, ANY_HOST}


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name.removeprefix("[").removesuffix("]"))
    except ValueError:
        return False
    return True
