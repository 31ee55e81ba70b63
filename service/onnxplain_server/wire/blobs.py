"""Uploaded models and tables that a request names by id: the SHA-256 of their content."""

from __future__ import annotations

import hashlib
import re

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Blobs
from onnxplain_server.core.request import RequestFile

_ID = re.compile(r"sha256:[0-9a-f]{64}")


def identify(content: bytes | bytearray | memoryview) -> str:
    """Return the id of a file: a hash of its content alone."""
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def check_id(kind: str, blob_id: str) -> None:
    """Raise INVALID_REQUEST unless `blob_id` has the form of an id; `kind`: "model", "table"."""
    if not _ID.fullmatch(blob_id):
        raise ExplainError(
            Reason.INVALID_REQUEST,
            f'{kind}.id must be "sha256:" and 64 hexadecimal digits, as an upload returned it',
            f"{kind}.id",
        )


def find(blobs: Blobs, kind: str, blob_id: str) -> RequestFile:
    """Return an uploaded file, or raise BLOB_NOT_FOUND; `kind`: "model", "table"."""
    blob = blobs.get(blob_id)
    if blob is None:
        raise not_found(kind, blob_id)
    return blob


def not_found(kind: str, blob_id: str) -> ExplainError:
    """Return the BLOB_NOT_FOUND error."""
    return ExplainError(
        Reason.BLOB_NOT_FOUND,
        f"no uploaded {kind} {blob_id} is here, or no longer; upload it, or send its content",
        f"{kind}.id",
    )
