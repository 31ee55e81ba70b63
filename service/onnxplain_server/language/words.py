"""Words of a text: runs of letters, digits and underscores, upper and lower case alike."""

from __future__ import annotations

import re

_WORD = re.compile(r"\w+")
_BORDER = " "


def words_of(text: str) -> str:
    """Return the words of a text in lower case, each between single blanks; "" without any."""
    words = _WORD.findall(text.lower())
    return f"{_BORDER}{_BORDER.join(words)}{_BORDER}" if words else ""


def has_words(text: str, words: str) -> bool:
    """Return whether a text has some words, one after the other; `words` as `words_of` gives."""
    return words in words_of(text)
