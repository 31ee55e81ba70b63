"""Recorded rows: groups of rows whose predictions the journal keeps, and the stretches between."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from onnxplain_server.core.arrays import Array
from onnxplain_server.effects.background import fingerprint
from onnxplain_server.effects.batch_size import next_call
from onnxplain_server.effects.recording.journal import digest

RECORD_ROWS = 64
"""Rows of a record. A multiple of the alignment of calls, so that what is left to predict is cut
as it would be without records."""


def content_of(columns: Sequence[Array], rows: slice) -> bytes:
    """Return the key of the predictions of some rows: a digest of all that they depend on."""
    return digest(fingerprint(column[rows]) for column in columns)


def record_slices(start: int, count: int, done: int) -> Iterator[slice]:
    """Yield the records of a piece of `count` rows from `start` on, up to the first `done` rows."""
    while start < done:
        rows = next_call(start, count, RECORD_ROWS)
        if rows.stop > done:
            return
        yield rows
        start = rows.stop


def unknown_stretches(count: int, known: Callable[[slice], bool]) -> Iterator[slice]:
    """Yield the stretches of a piece of `count` rows that have no record.

    Parameters
    ----------
    known : callable (slice) -> bool
        Whether a record is there; called once for each.
    """
    first = 0
    for rows in record_slices(0, count, count):
        if known(rows):
            if first < rows.start:
                yield slice(first, rows.start)
            first = rows.stop
    if first < count:
        yield slice(first, count)
