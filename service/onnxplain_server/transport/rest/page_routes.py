"""The page for people: files of the package, public, with a strict content security policy.

`make page` makes the files from `clients/web`. What the page shows it asks of the routes of
REST, as any client does.
"""

from __future__ import annotations

import gzip
import hashlib
import json
import mimetypes
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
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
    """

    issuer: str
    client_id: str
    scopes: tuple[str, ...]

    def encode(self) -> Mapping[str, object]:
        """Return it as JSON has it."""
        return {"issuer": self.issuer, "clientId": self.client_id, "scopes": self.scopes}


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
    compressed: bytes | None
    media_type: str
    cache_control: str

    @classmethod
    def of(cls, content: bytes, media_type: str, cache_control: str) -> _PageFile:
        """Compress a file where that is worth it."""
        compressed = gzip.compress(content, mtime=0) if media_type in _COMPRESSED else None
        return cls(content, compressed, media_type, cache_control)


def page_routes(config: PageConfig, folder: Traversable = _FILES) -> Blueprint:
    """Make the routes; the files are read once, now.

    Parameters
    ----------
    config : PageConfig
    folder : Traversable
        Files of the page: `index.html`, and others with a digest in their names.
    """
    routes = Blueprint(PAGE, "onnxplain")
    policy = _policy(config.login)
    for path, file in _pages(folder, config).items():
        routes.add_url_rule(path, path.replace(".", "_"), partial(_send, file, policy))
    return routes


def _pages(folder: Traversable, config: PageConfig) -> Mapping[str, _PageFile]:
    """Return all files by their paths."""
    pages = {"/page/config.json": _PageFile.of(config.encode(), JSON, _REVALIDATED)}
    for each in folder.iterdir():
        media_type = mimetypes.guess_type(each.name)[0] or "text/plain"
        if each.name == _INDEX:
            pages["/"] = _PageFile.of(each.read_bytes(), media_type, _REVALIDATED)
        else:
            pages[f"/page/{each.name}"] = _PageFile.of(each.read_bytes(), media_type, _FOREVER)
    return pages


def _policy(login: Login | None) -> str:
    """Return the content security policy: nothing foreign or inline, and nothing sent elsewhere."""
    provider = "" if login is None else f" {_origin(login.issuer)}"
    return "; ".join(
        (
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "img-src 'self' data: blob:",
            f"connect-src 'self'{provider}",
            "base-uri 'none'",
            "form-action 'none'",
            "frame-ancestors 'none'",
        )
    )


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _send(file: _PageFile, policy: str) -> Response:
    accepts = request.accept_encodings["gzip"] > 0 and file.compressed is not None
    content = file.compressed if accepts and file.compressed is not None else file.content
    response = Response(content, mimetype=file.media_type)
    if file.compressed is not None:
        response.headers["Vary"] = "Accept-Encoding"
    if accepts:
        response.headers["Content-Encoding"] = "gzip"
    response.set_etag(hashlib.sha256(content).hexdigest())
    response.headers["Cache-Control"] = file.cache_control
    response.headers["Content-Security-Policy"] = policy
    for name, value in _HEADERS.items():
        response.headers[name] = value
    response.make_conditional(request)
    return response
