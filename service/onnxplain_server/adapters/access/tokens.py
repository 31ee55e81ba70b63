"""Bearer tokens from a file, which holds only their digests."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Iterator, Sequence
from pathlib import Path

from onnxplain_server.adapters.access.watched_files import FileError, WatchedFiles

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@/-]{0,127}")
_DIGEST = re.compile(r"[0-9A-Fa-f]{64}")
_TOKEN_BYTES = 32


def is_name(text: str) -> bool:
    """Whether callers can be named so."""
    return _NAME.fullmatch(text) is not None


def new_token() -> str:
    """Make a token of 256 random bits."""
    return secrets.token_hex(_TOKEN_BYTES)


def token_line(name: str, token: str) -> str:
    """Return the line for the file."""
    return f"{name} {_digest(token)}"


class TokenFile:
    """Knows callers by tokens; several may be alive for one caller, so that they can be changed.

    A line is a name and the SHA-256 of a token in hexadecimal. Empty lines,
    and those that begin with #, say nothing.

    Parameters
    ----------
    file : Path
        Read again when it changes.

    Raises
    ------
    FileError
        Where it cannot be used; names the line.
    """

    def __init__(self, file: Path) -> None:
        self._callers = WatchedFiles([file], lambda contents: _parse(file, contents[0]))

    def verify(self, token: str, _wait: bool = True) -> str | None:
        """See `Way.caller`; there is never anything to wait for."""
        digest = _digest(token)
        found = None
        # To the end in any case: the time must not tell which line it is, or how near.
        for known, name in self._callers.value():
            if hmac.compare_digest(known, digest):
                found = name
        return None if found is None else f"token:{found}"


def _parse(file: Path, content: bytes) -> Sequence[tuple[str, str]]:
    """Return digests with their callers."""
    lines: dict[str, int] = {}
    callers = []
    for number, name, digest in _entries(file, content):
        if digest in lines:
            raise FileError(f"{file}, line {number}: the token is in line {lines[digest]} already")
        lines[digest] = number
        callers.append((digest, name))
    if not callers:
        raise FileError(f"{file}: names no token; make one with: onnxplain token NAME")
    return callers


def _entries(file: Path, content: bytes) -> Iterator[tuple[int, str, str]]:
    for number, raw in enumerate(content.splitlines(), start=1):
        words = raw.decode("ascii", errors="replace").split()
        if not words or words[0].startswith("#"):
            continue
        if fault := _fault(words):
            raise FileError(f"{file}, line {number}: {fault}")
        yield number, words[0], words[1].lower()


def _fault(words: Sequence[str]) -> str:
    """Say what is wrong with a line without repeating it: it may hold a token by mistake."""
    if len(words) != 2:
        return f"has {len(words)} words and needs two, a name and a SHA-256"
    if not is_name(words[0]):
        return "the name needs 1 to 128 letters, digits and ._@/-, a letter or digit first"
    if not _DIGEST.fullmatch(words[1]):
        return "the second word is no SHA-256, which has 64 hexadecimal digits"
    return ""


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
