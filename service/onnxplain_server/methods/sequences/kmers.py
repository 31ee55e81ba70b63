"""Integer codes of k-mers: base-n numbers, the first letter most significant."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Indices


def code_of(text: str, alphabet: str) -> int:
    """Return the code of a string."""
    code = 0
    for letter in text:
        code = code * len(alphabet) + alphabet.index(letter)
    return code


def text_of(code: int, length: int, alphabet: str) -> str:
    """Return the string of a code."""
    letters = []
    for _ in range(length):
        code, letter = divmod(code, len(alphabet))
        letters.append(alphabet[letter])
    return "".join(reversed(letters))


def windows(letters: Array, length: int, size: int) -> Indices:
    """Return the codes of all substrings: (n, n_letters) -> (n, n_positions).

    Parameters
    ----------
    length : int
        Length of the substrings.
    size : int
        Size of the alphabet.
    """
    count = letters.shape[1] - length + 1
    codes = np.zeros((len(letters), count), dtype=np.intp)
    for offset in range(length):
        codes = codes * size + letters[:, offset : offset + count]
    return codes


def mismatches(motif: Sequence[int], size: int) -> Indices:
    """Return the Hamming distance of each string to a motif: (size ** length,)."""
    counts = np.zeros(1, dtype=np.intp)
    for letter in motif:
        counts = (counts[:, None] + (np.arange(size) != letter)).ravel()
    return counts
