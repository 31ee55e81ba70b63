"""Objects of stores, read by obstore through the guard: whole, by ranges, and as listings.

All reads of an object are of the version that was found first: another one is refused.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from http import HTTPStatus
from typing import Any

import obstore
from obstore import exceptions

from onnxplain_server.adapters.sources.canonical_uri import CanonicalUri
from onnxplain_server.adapters.sources.connections.upstream import GuardSession
from onnxplain_server.adapters.sources.interfaces import ObjectVersion
from onnxplain_server.adapters.sources.source_list import SourceEntry
from onnxplain_server.adapters.sources.stores import build_store
from onnxplain_server.core.errors import ExplainError, Reason

_PAUSES = (0.1, 0.4, 1.6)
"""Seconds before a part that was cut off is asked for again."""

_FILE_COUNT_LIMIT = 100_000


class Objects:
    """Objects below one prefix.

    Parameters
    ----------
    entry : SourceEntry
    session : GuardSession
    seconds : float
        Time for one request with its repetitions.
    field : str
        Field of the request, for errors.
    """

    def __init__(
        self, entry: SourceEntry, session: GuardSession, seconds: float, field: str
    ) -> None:
        self._entry = entry
        self._session = session
        self._field = field
        self._end = time.monotonic() + seconds
        self._store = build_store(entry, session, seconds)

    def find(self, uri: CanonicalUri) -> ObjectVersion:
        """Return an object's size and version."""
        with self._translated(uri):
            return _version(uri, obstore.head(self._store, uri.path))

    def read_range(self, found: ObjectVersion, start: int, length: int) -> bytes | memoryview:
        """Read a part of an object, of the version that was found; again where it is cut off."""
        for pause in _PAUSES:
            try:
                return self._read_once(found, start, length)
            except ExplainError as error:
                is_late = time.monotonic() + pause > self._end
                if error.reason is not Reason.SOURCE_UNAVAILABLE or self._answered() or is_late:
                    raise
            time.sleep(pause)
        return self._read_once(found, start, length)

    def _read_once(self, found: ObjectVersion, start: int, length: int) -> memoryview:
        options: Any = {"if_match": found.etag} if found.etag else {}
        if (start, length) != (0, found.byte_count):
            options["range"] = (start, start + length)
        with self._translated(found.uri):
            result = obstore.get(self._store, found.uri.path, options=options)
            if _version(found.uri, result.meta) != found:
                raise self._changed(found.uri)
            content = memoryview(result.bytes())
        if len(content) != length:
            raise self._error(Reason.SOURCE_UNAVAILABLE, found.uri, "sent a part of another size")
        return content

    def list(self, folder: CanonicalUri) -> Sequence[ObjectVersion]:
        """Return the objects below a folder, in the order of their names."""
        if folder.scheme == "https":
            raise ExplainError(
                Reason.INVALID_REQUEST,
                f'"{folder}" is a folder; a web server lists none: name each file',
                self._field,
            )
        found: list[ObjectVersion] = []
        with self._translated(folder):
            for page in obstore.list(self._store, prefix=folder.path.rstrip("/")):
                for meta in page:
                    uri = _below(folder, meta["path"])
                    if meta["size"] and not uri.segments[-1].startswith(("_", ".")):
                        found.append(_version(uri, meta))
                if len(found) > _FILE_COUNT_LIMIT:
                    raise ExplainError(
                        Reason.TABLE_TOO_LARGE,
                        f'"{folder}" holds more than {_FILE_COUNT_LIMIT:,} files',
                        self._field,
                    )
        return sorted(found, key=lambda version: version.uri.segments)

    def write(self, uri: CanonicalUri, content: bytes | Iterable[bytes]) -> None:
        """Write an object, in place of one of its name; parts are sent as they come."""
        with self._translated(uri, "written"):
            obstore.put(self._store, uri.path, content)

    def _answered(self) -> bool:
        """Return whether the store has refused: obstore has asked again then already."""
        return bool(self._refused_status or self._session.failure)

    @property
    def _refused_status(self) -> int:
        """The store's last answer, if it refuses; 0 where it takes back parts of an object."""
        status = self._session.status
        return status if status >= HTTPStatus.BAD_REQUEST else 0

    def _changed(self, uri: CanonicalUri) -> ExplainError:
        return self._error(
            Reason.SOURCE_CHANGED, uri, "changed while it was read; repeat the request"
        )

    def _error(self, reason: Reason, uri: CanonicalUri, fault: str) -> ExplainError:
        return ExplainError(reason, f'"{uri}" {fault}', self._field)

    @contextmanager
    def _translated(self, uri: CanonicalUri, done: str = "read") -> Iterator[None]:
        """Translate obstore's errors on what is read or written."""
        self._session.failure, self._session.status = "", 0
        try:
            yield
        except FileNotFoundError:
            fault = "does not exist; check its name, and whether the server may see it"
            raise self._error(Reason.SOURCE_NOT_FOUND, uri, fault) from None
        except exceptions.PreconditionError:
            raise self._changed(uri) from None
        except (exceptions.PermissionDeniedError, exceptions.UnauthenticatedError):
            raise self._forbidden(uri, done) from None
        except exceptions.BaseError as error:
            raise self._unavailable(uri, error, done) from None

    def _forbidden(self, uri: CanonicalUri, done: str) -> ExplainError:
        if self._session.failure:
            fault = f"cannot be {done}: {self._session.failure}"
        else:
            fault = (
                f"may not be {done} by this server: its store answers "
                f"{self._refused_status or 403}; have the operator check the credentials of the "
                "prefix"
            )
        return self._error(Reason.SOURCE_FORBIDDEN, uri, fault)

    def _unavailable(self, uri: CanonicalUri, error: Exception, done: str) -> ExplainError:
        status = self._refused_status
        cause = self._session.failure or (f"its store answers {status}" if status else "")
        cause = cause or str(error).partition("\n")[0][:200]
        return self._error(
            Reason.SOURCE_UNAVAILABLE, uri, f"cannot be {done} now: {cause}; try again later"
        )


def _version(uri: CanonicalUri, meta: Any) -> ObjectVersion:
    etag = _normal_etag(meta.get("e_tag") or "")
    # Listings have fractions of seconds, and headers of HTTP have none.
    changed_at = meta["last_modified"].replace(microsecond=0).isoformat()
    # If-Match fails for weak ones, by RFC 9110.
    strong = etag if etag and not etag.startswith("W/") else None
    return ObjectVersion(uri, meta["size"], etag or changed_at, strong)


def _normal_etag(etag: str) -> str:
    """Return an ETag with its quotes, which listings of some stores leave out; without text, none.

    Stores that make no ETags send empty ones for all objects.
    """
    if not etag.removeprefix("W/").strip('"'):
        return ""
    return etag if etag.endswith('"') else f'"{etag}"'


def _below(folder: CanonicalUri, path: str) -> CanonicalUri:
    return CanonicalUri(folder.scheme, folder.authority, tuple(path.split("/")))
