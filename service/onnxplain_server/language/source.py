"""Source text of an expression: masks names in backquotes, and builds errors with positions."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from onnxplain_server.core.errors import ExplainError, Reason

MAX_CHARACTERS = 1_000

_TOKEN = re.compile(r"""`[^`]*`|'[^'\\]*'|"[^"\\]*"|[`'"#\\]|[^`'"#\\]+""")
_INVALID_TOKENS = {
    "`": "` is not closed, or follows a backslash",
    "'": "' is not closed, or follows a backslash",
    '"': '" is not closed, or follows a backslash',
    "#": "comments are not supported",
    "\\": "backslashes are not supported",
}


@dataclass(frozen=True, slots=True)
class SourceText:
    """Text of an expression, before parsing.

    Attributes
    ----------
    text : str
        As in the request.
    path : str
        Request field that holds it.
    masked : str
        The text with names in backquotes replaced by identifiers of the same length.
    names : mapping of int to str
        Names in backquotes, by position.
    """

    text: str
    path: str
    masked: str = ""
    names: Mapping[int, str] = field(default_factory=dict)

    def fault(self, reason: str, place: int, cause: Reason = Reason.INVALID_OPTION) -> ExplainError:
        """Build the error for a position."""
        excerpt = self.text if len(self.text) <= 100 else f"{self.text[:100]}…"
        return ExplainError(cause, f"{reason}, at position {place + 1} of {excerpt!r}", self.path)

    @property
    def blank(self) -> int:
        """Count leading blanks, which Python would parse as indentation."""
        return len(self.masked) - len(self.masked.lstrip())

    def place(self, node: ast.expr) -> int:
        """Return the position of a node in the text, in characters."""
        before = self.masked.encode()[: self.blank + node.col_offset]
        return len(before.decode(errors="ignore"))


def read(text: str, path: str) -> SourceText:
    """Validate a text and mask its names in backquotes.

    Raises
    ------
    ExplainError
        INVALID_OPTION.
    """
    plain = SourceText(text, path)
    if not text.strip():
        raise plain.fault("the expression is empty", 0)
    if len(text) > MAX_CHARACTERS:
        raise plain.fault(f"an expression has at most {MAX_CHARACTERS:,} characters", 0)
    names: dict[int, str] = {}
    parts = []
    for token in _TOKEN.finditer(text):
        part, place = token.group(), token.start()
        if part in _INVALID_TOKENS:
            raise plain.fault(_INVALID_TOKENS[part], place)
        if part[0] == "`":
            names[place] = part[1:-1]
            part = _mask(plain, part, place)
        elif part[0] not in "'\"":
            part = re.sub(r"\s", " ", part)
        parts.append(part)
    return SourceText(text, path, "".join(parts), names)


def _mask(plain: SourceText, part: str, place: int) -> str:
    """Return an identifier as long as a name in backquotes."""
    end = place + len(part)
    neighbors = plain.text[max(place - 1, 0) : place] + plain.text[end : end + 1]
    if len(part) < 3:
        raise plain.fault("a name is missing between the backquotes", place)
    if any(character.isalnum() or character == "_" for character in neighbors):
        raise plain.fault("an operator is missing beside the name in backquotes", place)
    return "_" * len(part)
