"""A support vector machine with the weighted degree kernel with shifts, and its weights of strings.

The kernel of G. Rätsch, S. Sonnenburg, B. Schölkopf (2005), "RASE: Recognition of alternatively
spliced exons in C. elegans", Bioinformatics 21(Suppl. 1), i369-i377: it compares strings of up to
`DEGREE` letters at the same position, and at positions up to `SHIFT` apart.
"""

from __future__ import annotations

import csv
import gzip
from itertools import product
from pathlib import Path

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.svm import SVC

DEGREE, SHIFT = 7, 7
_DATA = Path(__file__).parents[2] / "tests/golden/firm/gattaca/train.csv.gz"
_LETTERS = "ACGT"
Numbers = npt.NDArray[np.float64]


def data() -> tuple[list[str], Numbers]:
    """Read sequences, and their classes as 1 or -1."""
    with gzip.open(_DATA, "rt") as lines:
        rows = list(csv.DictReader(lines))
    return [row["sequence"] for row in rows], np.array([float(row["label"]) for row in rows])


def trained(sequences: list[str], classes: Numbers) -> list[Numbers]:
    """Train a machine; return its weights for each number of letters: (n_positions, 4^k)."""
    letters = np.array([[_LETTERS.index(one) for one in text] for text in sequences])
    parts = [_features(letters, k) for k in range(1, DEGREE + 1)]
    kernel = sum(_product(plain, shifted) for plain, shifted in parts)
    machine = SVC(kernel="precomputed", C=1.0).fit(kernel, classes)
    duals = np.zeros(len(sequences))
    duals[machine.support_] = machine.dual_coef_[0]
    return [
        np.asarray(shifted.T @ duals).reshape(-1, 4**k)
        for k, (_, shifted) in enumerate(parts, start=1)
    ]


def listed(weights: list[Numbers]) -> dict[tuple[str, int], float]:
    """Write weights as a request does: by string and position."""
    return {
        ("".join(text), position): float(value)
        for k, layer in enumerate(weights, start=1)
        for code, text in enumerate(product(_LETTERS, repeat=k))
        for position, value in enumerate(layer[:, code])
        if value
    }


def _features(letters: npt.NDArray[np.int64], k: int) -> tuple[sparse.csr_array, sparse.csr_array]:
    """Return indicators of strings at positions, and their weighted sums over shifts."""
    count = letters.shape[1] - k + 1
    codes = sum(letters[:, i : i + count] * 4 ** (k - 1 - i) for i in range(k))
    weight = 2 * (DEGREE - k + 1) / (DEGREE * (DEGREE + 1))
    plain = _indicators(codes, np.arange(count), k)
    shifted = weight * plain
    for shift in range(1, SHIFT + 1):
        for moved in (shift, -shift):
            near = _indicators(codes, np.arange(count) + moved, k)
            shifted = shifted + weight / (2 * (shift + 1)) * near
    return plain, shifted


def _indicators(
    codes: npt.NDArray[np.int64], positions: npt.NDArray[np.int64], k: int
) -> sparse.csr_array:
    """Return a row for each sequence: 1 where a string is, at these positions if they exist."""
    count = codes.shape[1]
    kept = (positions >= 0) & (positions < count)
    columns = (positions * 4**k + codes)[:, kept]
    rows = np.repeat(np.arange(len(codes)), kept.sum())
    ones = np.ones(columns.size)
    return sparse.csr_array((ones, (rows, columns.ravel())), shape=(len(codes), count * 4**k))


def _product(plain: sparse.csr_array, shifted: sparse.csr_array) -> Numbers:
    if plain.shape[1] < 2_000:
        dense: Numbers = plain.toarray() @ shifted.toarray().T
        return dense
    return np.asarray((plain @ shifted.T).todense())
