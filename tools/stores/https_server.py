"""HTTPS server of objects in memory: ranges, ETag, If-Match and redirects."""

from __future__ import annotations

import hashlib
import re
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http import HTTPStatus
from pathlib import Path

from tools.stores.faulty_server import FaultyServer, Request, Response, of_bytes, serve

_RANGE = re.compile(r"bytes=(\d*)-(\d*)")


@dataclass
class Site:
    """What a server has: content by path, or the place that a path redirects to.

    Attributes
    ----------
    required : dict of str to str
        Headers that each request must have, by their names in small letters.
    """

    objects: dict[str, bytes] = field(default_factory=dict)
    redirects: dict[str, str] = field(default_factory=dict)
    required: dict[str, str] = field(default_factory=dict)

    def answer(self, request: Request) -> Response:
        path = request.path.partition("?")[0]
        given = {name.lower(): value for name, value in request.headers.items()}
        if any(given.get(name) != value for name, value in self.required.items()):
            return of_bytes(HTTPStatus.FORBIDDEN, {}, b"")
        if path in self.redirects:
            return of_bytes(HTTPStatus.FOUND, {"Location": self.redirects[path]}, b"")
        if path not in self.objects:
            return of_bytes(HTTPStatus.NOT_FOUND, {}, b"")
        return _object(request.method, given, self.objects[path])


def _object(method: str, given: dict[str, str], content: bytes) -> Response:
    etag = f'"{hashlib.sha256(content).hexdigest()[:32]}"'
    headers = {"ETag": etag, "Accept-Ranges": "bytes"}
    if given.get("if-match", etag) not in {etag, "*"}:
        return of_bytes(HTTPStatus.PRECONDITION_FAILED, headers, b"")
    if method == "HEAD":
        return of_bytes(HTTPStatus.OK, {**headers, "Content-Length": str(len(content))}, b"")
    if (match := _RANGE.fullmatch(given.get("range", ""))) is None:
        return of_bytes(HTTPStatus.OK, headers, content)
    first, last = _bounds(match[1], match[2], len(content))
    if first > last:
        return of_bytes(HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE, headers, b"")
    headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
    return of_bytes(HTTPStatus.PARTIAL_CONTENT, headers, content[first : last + 1])


def _bounds(first: str, last: str, size: int) -> tuple[int, int]:
    """Return the first and the last byte of a range; without a first, it is the end's length."""
    if not first:
        return max(size - int(last), 0), size - 1
    return int(first), min(int(last or size), size - 1)


@contextmanager
def https_server(
    site: Site, certificate: Path | None = None, key: Path | None = None
) -> Iterator[FaultyServer]:
    """Serve a site, over TLS where a certificate is given."""
    context = None
    if certificate:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
        context.load_cert_chain(certificate, key)
    with serve(site.answer, context) as server:
        yield server
