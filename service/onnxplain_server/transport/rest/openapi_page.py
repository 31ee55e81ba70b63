"""OpenAPI description of REST, and its Swagger UI page with a strict content security policy."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from importlib.resources import files
from types import MappingProxyType

from flask import Blueprint, Response, request
from werkzeug.exceptions import NotFound

_OWN_FILES = files("onnxplain_server.transport.rest")
_SWAGGER = files("flask_swagger_ui") / "dist"

_ASSETS: Mapping[str, str] = MappingProxyType(
    {
        "docs.js": "text/javascript",
        "swagger-ui-bundle.js": "text/javascript",
        "swagger-ui.css": "text/css",
    }
)

# No foreign and no inline content. Swagger UI has its icons as data URLs.
_POLICY = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        "img-src 'self' data:",
        "connect-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
    )
)


def create_docs() -> Blueprint:
    """Make the routes; their files are read once, now."""
    routes = Blueprint("docs", "onnxplain")
    description = (_OWN_FILES / "openapi.json").read_bytes()
    html = (_OWN_FILES / "docs.html").read_bytes()
    assets = {name: _read(name) for name in _ASSETS}

    @routes.get("/openapi.json")
    def openapi() -> Response:
        return _file(description, "application/json")

    @routes.get("/docs")
    def page() -> Response:
        return _file(html, "text/html")

    @routes.get("/docs/<file>")
    def asset(file: str) -> Response:
        if file not in assets:
            raise NotFound
        return _file(assets[file], _ASSETS[file])

    return routes


def _read(name: str) -> bytes:
    return ((_OWN_FILES if name == "docs.js" else _SWAGGER) / name).read_bytes()


def _file(content: bytes, media_type: str) -> Response:
    response = Response(content, mimetype=media_type)
    response.set_etag(hashlib.sha256(content).hexdigest())
    # Revalidate each time: another version of the server may reply.
    response.headers["Cache-Control"] = "no-cache"
    response.headers["Content-Security-Policy"] = _POLICY
    response.make_conditional(request)
    return response
