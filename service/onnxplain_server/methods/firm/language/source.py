"""The text of an expression: names in backquotes, and faults that point at their place."""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from onnxplain_server.core.errors import ExplainError, Reason

MAX_CHARACTERS = 1_000

_TOKEN = re.compile(r"""`[^`]*`|'[^'\\]*'|"[^"\\]*"|[`'"#\\]|[^`'"#\\]+""")
_ALONE = {
    "`": "` has no other end, or there is a backslash before it",
    "'": "' has no other end, or there is a backslash before it",
    '"': '" has no other end, or there is a backslash before it',
    "#": "there are no comments here",
    "\\": "a backslash cannot be used",
}


@dataclass(frozen=True, slots=True)
class SourceText:
    """A text on its way to a tree.

    Attributes
    ----------
    text : str
        As it was given.
    path : str
        Field of the request that holds it.
    masked : str
        The text with identifiers of the same length in place of names in backquotes.
    names : mapping of int to str
        The names in backquotes, by their place.
    """

    text: str
    path: str
    masked: str = ""
    names: Mapping[int, str] = field(default_factory=dict)

    def fault(self, reason: str, place: int, cause: Reason = Reason.INVALID_OPTION) -> ExplainError:
        """Make the error for what is wrong at a place."""
        shown = self.text if len(self.text) <= 100 else f"{self.text[:100]}…"
        return ExplainError(cause, f"{reason}, at position {place + 1} of {shown!r}", self.path)

    @property
    def blank(self) -> int:
        """Count the blanks at the start, which Python would take for an indentation."""
        return len(self.masked) - len(self.masked.lstrip())

    def place(self, node: ast.expr) -> int:
        """Count the characters before a node, of what begins after the blanks."""
        before = self.masked.encode()[: self.blank + node.col_offset]
        return len(before.decode(errors="ignore"))


def read(text: str, path: str) -> SourceText:
    """Set names in backquotes aside.

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
        if part in _ALONE:
            raise plain.fault(_ALONE[part], place)
        if part[0] == "`":
            names[place] = part[1:-1]
            part = _stand_in(plain, part, place)
        elif part[0] not in "'\"":
            part = re.sub(r"\s", " ", part)
        parts.append(part)
    return SourceText(text, path, "".join(parts), names)


def _stand_in(plain: SourceText, part: str, place: int) -> str:
    """Make an identifier as long as a name in backquotes is."""
    end = place + len(part)
    beside = plain.text[max(place - 1, 0) : place] + plain.text[end : end + 1]
    if len(part) < 3:
        raise plain.fault("a name must stand between backquotes", place)
    if any(character.isalnum() or character == "_" for character in beside):
        raise plain.fault("an operator is missing beside the name in backquotes", place)
    return "_" * len(part)
