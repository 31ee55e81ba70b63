"""Readers of what computations and the process that calls remote models send each other."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from onnxplain_server.adapters.access.watched_files import FileError
from onnxplain_server.adapters.network_processes.socket_frames import (
    BrokenError,
    pack_error,
    unpack_error,
)
from onnxplain_server.adapters.remote_server import call_frames as frames
from onnxplain_server.adapters.remote_server.columns import (
    pack_feeds,
    pack_predictions,
    unpack_feeds,
    unpack_predictions,
)
from onnxplain_server.adapters.remote_server.descriptions import (
    pack_description,
    unpack_description,
)
from onnxplain_server.adapters.remote_server.remote_list import (
    RemoteEntry,
    RemoteList,
    authorization,
    remote_prefix,
)
from onnxplain_server.core.counts.remote_counts import CallCounts
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input
from onnxplain_server.core.remote.models import RemoteDescription

_ROW_COUNT = 2
_PREFIX = "https://h.test:8443/a"
_LISTED = RemoteList((RemoteEntry(remote_prefix(_PREFIX)),))


def remote_rows(given: bytes) -> None:
    """Rows that a computation sends: what is read is sent as the same bytes again."""
    with suppress(BrokenError):
        rows = unpack_feeds(given, _ROW_COUNT)
        assert b"".join(pack_feeds(rows)) == given


def remote_answers(given: bytes) -> None:
    """Answers that the process that calls sends."""
    with suppress(BrokenError):
        assert unpack_predictions(given, _ROW_COUNT).shape[0] == _ROW_COUNT
    readers: tuple[Callable[[bytes], Any], ...] = (
        unpack_description,
        partial(unpack_error, reasons=frames.REASONS),
        frames.unpack_counts,
        frames.unpack_limits,
    )
    for read in readers:
        with suppress(BrokenError):
            read(given)


def remote_address(given: bytes) -> None:
    """An address of a request: what is found lies below the listed prefix."""
    with suppress(ExplainError):
        found, _ = _LISTED.find(given.decode(errors="replace"))
        assert found == _PREFIX or found.startswith(f"{_PREFIX}/")
        assert not {".", ".."} & set(found.split("/"))


def remote_credentials(given: bytes) -> None:
    """A file of credentials: what is read is a header of one line."""
    with suppress(FileError):
        header = authorization([given])
        assert header.isascii()
        assert header.isprintable()


_ROWS = {
    "x": np.array([[1.5, -2.0], [np.nan, 0.0]]),
    "s": np.array([["Bern"], [""]], object),
    "n": np.array([[1], [2]], np.int64),
}
_DESCRIPTION = RemoteDescription((Input("x", "float", 2, ("a", "b")),), ("no", "yes"), "1", "p")
_ERROR = ExplainError(Reason.REMOTE_MODEL_UNAVAILABLE, "later", "model.remote", retry_seconds=2.0)

SEEDS = {
    "remote_rows": [b"".join(pack_feeds(_ROWS)), b"".join(pack_feeds({"x": _ROWS["x"]}))],
    "remote_answers": [
        b"".join(pack_predictions(_ROWS["x"])),
        pack_description(_DESCRIPTION),
        pack_error(_ERROR),
        frames.pack_counts(CallCounts(1, 2, 3, 4)),
        frames.pack_limits(4, 2_000),
    ],
    "remote_address": [f"{_PREFIX}/b%20c/d".encode(), b"HTTPS://H.TEST:8443/a/", b"https://x@h/.."],
    "remote_credentials": [b"abc.def\n", b"user:password", b"Bearer abc", b"Basic dTpw"],
}
"""What each of them reads well."""
