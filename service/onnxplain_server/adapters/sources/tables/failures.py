"""Errors of Arrow as errors of requests that name the file."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import pyarrow as pa

from onnxplain_server.adapters.sources.interfaces import SourceFile
from onnxplain_server.core.errors import ExplainError, Reason

_CAUSE_LENGTH = 200
_UNITS = ("bytes", "KiB", "MiB", "GiB", "TiB")


@contextmanager
def reading(file: SourceFile, form: str) -> Iterator[None]:
    """Translate what Arrow raises where it cannot read a file.

    Raises
    ------
    ExplainError
        INVALID_TABLE, OUT_OF_MEMORY.
    """
    try:
        yield
    except MemoryError:
        # Files are compressed: a small file may hold billions of cells.
        raise ExplainError(
            Reason.OUT_OF_MEMORY,
            f"{file.uri} needs more memory than there is for one request; name fewer columns, or "
            "filter rows",
            "table",
        ) from None
    except (pa.ArrowException, OSError, ValueError, TypeError) as error:
        cause = str(error).partition("\n")[0][:_CAUSE_LENGTH]
        raise invalid(f"{file.uri} cannot be read as {form}: {cause}") from None


def invalid(message: str) -> ExplainError:
    """Return the error of a table that cannot be read."""
    return ExplainError(Reason.INVALID_TABLE, message, "table")


def too_large(subject: str, byte_limit: int) -> ExplainError:
    """Return the error of a table above the limit; `subject` says what has which size."""
    return ExplainError(
        Reason.TABLE_TOO_LARGE,
        f"{subject}, and the limit is {size(byte_limit)}; name fewer columns, or filter rows",
        "table",
    )


def size(byte_count: float) -> str:
    """Write a number of bytes: "812 bytes", "1.3 GiB"."""
    power = min(max(int(math.log2(byte_count or 1)) // 10, 0), len(_UNITS) - 1)
    return f"{byte_count / 1024**power:.{1 if power else 0}f} {_UNITS[power]}"
