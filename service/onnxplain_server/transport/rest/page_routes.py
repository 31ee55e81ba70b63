"""The page for people: files of the package, public, with a strict content security policy.

`make page` makes the files from `clients/web`. What the page shows it asks of the routes of
REST, as any client does.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import mimetypes
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib.resources import files
from importlib.resources.abc import Traversable
from types import MappingProxyType
from urllib.parse import urlsplit

from flask import Blueprint, Response, request

from onnxplain_server.transport.rest.request_handling import PAGE
from onnxplain_server.wire.media_types import JSON

_FILES = files("onnxplain_server.transport.rest") / "page"
_INDEX = "index.html"
_COMPRESSED = frozenset({"text/html", "text/css", "text/javascript", JSON})
"""Media types that are worth compressing."""
_FOREVER = "public, max-age=31536000, immutable"
"""For files whose names have a digest of their content."""
_REVALIDATED = "no-cache"
"""For names that another version of the server gives other content."""

_HEADERS: Mapping[str, str] = MappingProxyType(
    {
        "Cross-Origin-Opener-Policy": "same-origin",
        "Permissions-Policy": "camera=(), geolocation=(), microphone=(), payment=(), usb=()",
    }
)


@dataclass(frozen=True, slots=True)
class Login:
    """Login of the page's readers at an OpenID provider: authorisation code with PKCE.

    Attributes
    ----------
    issuer : str
    client_id : str
        The page, as a public client of the provider.
    scopes : tuple of str
    token_origin : callable () -> str, optional
        Origin of the token endpoint where it is known, else empty; without it, that of the issuer.
    """

    issuer: str
    client_id: str
    scopes: tuple[str, ...]
    token_origin: Callable[[], str] | None = None

    def encode(self) -> Mapping[str, object]:
        """Return it as JSON has it."""
        return {"issuer": self.issuer, "clientId": self.client_id, "scopes": self.scopes}

    def origins(self) -> Sequence[str]:
        """Return the origins that the page asks for its token."""
        parts = urlsplit(self.issuer)
        token_origin = "" if self.token_origin is None else self.token_origin()
        found = (f"{parts.scheme}://{parts.netloc}", token_origin)
        return [*dict.fromkeys(filter(None, found))]


@dataclass(frozen=True, slots=True)
class PageConfig:
    """Configuration that the page reads before it asks anything else; anybody may read it.

    Attributes
    ----------
    version : str
        Of the server.
    needs_token : bool
        Whether calls need a token.
    upload_bytes : mapping of str to int
        Size limits of uploads, by "model" and "table".
    has_operations : bool
        Whether operations can be started.
    has_sources : bool
        Whether models or tables may be named by URIs.
    login : Login, optional
        Where its readers log in; without it, a token can be typed.
    """

    version: str
    needs_token: bool
    upload_bytes: Mapping[str, int]
    has_operations: bool
    has_sources: bool
    login: Login | None

    def encode(self) -> bytes:
        """Encode as JSON."""
        told: dict[str, object] = {
            "version": self.version,
            "needsToken": self.needs_token,
            "uploadBytes": dict(self.upload_bytes),
            "hasOperations": self.has_operations,
            "hasSources": self.has_sources,
        }
        if self.login is not None:
            told["openid"] = self.login.encode()
        return json.dumps(told).encode()


@dataclass(frozen=True, slots=True, eq=False)
class _PageFile:
    """File of the page, as it is sent."""

    content: bytes
    media_type: str
    cache_control: str


@cache
def _compress(content: bytes) -> bytes:
    """Compress a file at its first request: all of them would take a start 0.1 s."""
    return gzip.compress(content, mtime=0)


def page_routes(config: PageConfig, folder: Traversable = _FILES) -> Blueprint:
    """Make the routes; the files are read once, now.

    Parameters
    ----------
    config : PageConfig
    folder : Traversable
        Files of the page: `index.html`, and others with a digest in their names.
    """
    routes = Blueprint(PAGE, "onnxplain")
    policy = partial(_policy, config.login)
    for path, file in _pages(folder, config).items():
        routes.add_url_rule(path, path.replace(".", "_"), partial(_send, file, policy))
    return routes


def _pages(folder: Traversable, config: PageConfig) -> Mapping[str, _PageFile]:
    """Return all files by their paths."""
    pages = {"/page/config.json": _PageFile(config.encode(), JSON, _REVALIDATED)}
    for each in folder.iterdir():
        media_type = mimetypes.guess_type(each.name)[0] or "text/plain"
        if each.name == _INDEX:
            pages["/"] = _PageFile(each.read_bytes(), media_type, _REVALIDATED)
        else:
            pages[f"/page/{each.name}"] = _PageFile(each.read_bytes(), media_type, _FOREVER)
    return pages


def _policy(login: Login | None) -> str:
    """Return the content security policy: nothing foreign or inline, and nothing sent elsewhere."""
    own = ("'self'",) if login is None else ("'self'", *login.origins())
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' data: blob:",
            f"connect-src {' '.join(own)}",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def _send(file: _PageFile, policy: Callable[[], str]) -> Response:
    is_compressible = file.media_type in _COMPRESSED
    accepts = request.accept_encodings["gzip"] > 0 and is_compressible
    content = _compress(file.content) if accepts else file.content
    response = Response(content, mimetype=file.media_type)
    if is_compressible:
        response.headers["Vary"] = "Accept-Encoding"
    if accepts:
        response.headers["Content-Encoding"] = "gzip"
    headers = {**_HEADERS, "Content-Security-Policy": policy()}
    # With the headers, which browsers may take from what they have kept.
    response.set_etag(hashlib.sha256(content + json.dumps(headers).encode()).hexdigest())
    response.headers["Cache-Control"] = file.cache_control
    for name, value in headers.items():
        response.headers[name] = value
    response.make_conditional(request)
    return response
