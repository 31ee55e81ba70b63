"""Symbols on consoles whose encoding lacks them, like cp1252 of Windows."""

from __future__ import annotations

import codecs
import io
import sys
import unicodedata

_HANDLER = "onnxplain.plain"

_PLAIN = {
    "−": "-",
    "×": "x",
    "·": "|",
    "•": "-",
    "…": "...",
    "≤": "<=",
    "≥": ">=",
    "≠": "!=",
    "≈": "~",
    "→": "->",
    "█": "#",
    "²": "^2",
    "Σ": "sum",
}


def allow_all_symbols() -> None:
    """Write to standard output and error what their encoding lacks in plain characters."""
    codecs.register_error(_HANDLER, _in_plain)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors=_HANDLER)


def _in_plain(error: UnicodeError) -> tuple[str | bytes, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    symbols = error.object[error.start : error.end]
    return "".join(map(_plain, symbols)), error.end


def _plain(symbol: str) -> str:
    """Return ASCII for a symbol: letters without their marks; a question mark for unknown ones."""
    parts = unicodedata.normalize("NFKD", symbol).encode("ascii", "ignore").decode()
    return _PLAIN.get(symbol) or parts or "?"
