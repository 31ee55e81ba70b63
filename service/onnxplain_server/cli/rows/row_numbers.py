"""Row numbers of the flag `--rows`."""

from __future__ import annotations

from onnxplain_server.cli.failure import UsageFault
from onnxplain_server.cli.requests import request


def row_numbers(texts: list[str] | None) -> list[int]:
    """Return the numbers of `--rows`."""
    found = request.split(texts or [])
    for text in found:
        if not text.strip().isdecimal() or int(text) >= 2**31:
            raise UsageFault(f"{text!r} is no row; rows are whole numbers from 0", "--rows")
    return [int(text) for text in found]
