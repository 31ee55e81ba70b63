"""Files of this machine, for the command line and `onnxplain.local()`; a server reads none."""

from __future__ import annotations

import secrets
import shutil
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from onnxplain_server.adapters.sources.canonical_uri import CanonicalUri
from onnxplain_server.adapters.sources.interfaces import ObjectVersion
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.systems.paths import local_path, segments_of


class LocalFiles:
    """Files below the root of this machine; the methods are those of `Objects`."""

    def __init__(self, field: str) -> None:
        self._field = field

    def find(self, uri: CanonicalUri) -> ObjectVersion:
        """Return a file's size and version."""
        with self._translated(uri):
            path = _path(uri)
            if path.is_dir():
                raise self._error(Reason.SOURCE_NOT_FOUND, uri, "is a folder; end it with a slash")
            status = path.stat()
        version = f"{status.st_mtime_ns}-{status.st_size}"
        return ObjectVersion(uri, status.st_size, version, None)

    def read_range(self, found: ObjectVersion, start: int, length: int) -> bytes:
        """Read a part of a file, of the version that was found."""
        with self._translated(found.uri), _path(found.uri).open("rb") as file:
            file.seek(start)
            content = file.read(length)
        if len(content) != length or self.find(found.uri) != found:
            fault = "changed while it was read; repeat the request"
            raise self._error(Reason.SOURCE_CHANGED, found.uri, fault)
        return content

    def list(self, folder: CanonicalUri) -> Sequence[ObjectVersion]:
        """Return the files below a folder, in the order of their names."""
        with self._translated(folder):
            root = _path(folder)
            if not root.is_dir():
                raise FileNotFoundError
            files = [path for path in root.rglob("*") if path.is_file() and path.stat().st_size]
        shown = [path for path in files if not path.name.startswith(("_", "."))]
        uris = [CanonicalUri("file", "", segments_of(path)) for path in shown]
        return [self.find(uri) for uri in sorted(uris, key=lambda uri: uri.segments)]

    def check_folder(self, uri: CanonicalUri) -> None:
        """Raise where a file has no folder to be written to, or is one."""
        with self._translated(uri):
            path = _path(uri).resolve()
            has_folder, is_folder = path.parent.is_dir(), path.is_dir()
        if not has_folder:
            fault = "cannot be written: its folder does not exist; create it, or check its name"
            raise self._error(Reason.SOURCE_NOT_FOUND, uri, fault)
        if is_folder:
            fault = "cannot be written: it is a folder; add the name of a file"
            raise self._error(Reason.INVALID_REQUEST, uri, fault)

    def write(self, uri: CanonicalUri, content: bytes | Iterable[bytes]) -> None:
        """Write a file, in place of one of its name once all parts are there."""
        parts = (content,) if isinstance(content, bytes) else content
        self.check_folder(uri)
        with self._translated(uri):
            final = _path(uri).resolve()
            if final.exists() and not final.is_file():
                with final.open("wb") as device:
                    device.writelines(parts)
                return
            draft = final.with_name(f".{final.name}.{secrets.token_hex(4)}")
            try:
                with draft.open("xb") as file:
                    if final.exists():
                        shutil.copymode(final, draft)
                    file.writelines(parts)
                draft.replace(final)
            finally:
                draft.unlink(missing_ok=True)

    @contextmanager
    def _translated(self, uri: CanonicalUri) -> Iterator[None]:
        try:
            yield
        except FileNotFoundError:
            raise self._error(
                Reason.SOURCE_NOT_FOUND, uri, "does not exist; check its name"
            ) from None
        except OSError as error:
            raise self._error(
                Reason.SOURCE_FORBIDDEN, uri, f"cannot be used: {error.strerror}"
            ) from None

    def _error(self, reason: Reason, uri: CanonicalUri, fault: str) -> ExplainError:
        return ExplainError(reason, f'"{uri}" {fault}', self._field)


def _path(uri: CanonicalUri) -> Path:
    return local_path(uri.segments)
