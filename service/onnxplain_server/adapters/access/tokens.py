"""Bearer tokens: authenticates callers by a file that holds only SHA-256 digests."""

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
    """Check the name of a caller: 1 to 128 letters, digits and ._@/-."""
    return _NAME.fullmatch(text) is not None


def new_token() -> str:
    """Make a token of 256 random bits."""
    return secrets.token_hex(_TOKEN_BYTES)


def token_line(name: str, token: str) -> str:
    """Format the line of the token file for a caller."""
    return f"{name} {_digest(token)}"


class TokenFile:
    """Authenticator of callers by bearer token; a caller may have several, for rotation.

    A line is a name and the SHA-256 of a token in hexadecimal. Empty lines,
    and those that begin with #, are ignored.

    Parameters
    ----------
    file : Path
        Reloaded when it changes.

    Attributes
    ----------
    callers : WatchedFiles
        Digests of tokens with their callers.

    Raises
    ------
    FileError
        For an invalid file; names the line.
    """

    def __init__(self, file: Path) -> None:
        self.callers = WatchedFiles([file], lambda contents: _parse(file, contents[0]))

    def verify(self, token: str, _wait: bool = True) -> str | None:
        """Return the token's caller; None for an unknown token. Never waits."""
        digest = _digest(token)
        caller = None
        # Constant time: compare with every line, so that timing tells nothing about the match.
        for known_digest, name in self.callers.value():
            if hmac.compare_digest(known_digest, digest):
                caller = f"token:{name}"
        return caller


def _parse(file: Path, content: bytes) -> Sequence[tuple[str, str]]:
    """Parse the file into digests with their callers."""
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
    """Describe the fault of a line without quoting it: it may hold a token by mistake."""
    if len(words) != 2:
        return f"has {len(words)} words and needs two, a name and a SHA-256"
    if not is_name(words[0]):
        return "the name needs 1 to 128 letters, digits and ._@/-, a letter or digit first"
    if not _DIGEST.fullmatch(words[1]):
        return "the second word is no SHA-256, which has 64 hexadecimal digits"
    return ""


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()
