"""Memo of predicted rows within a request: a row that was asked for is not asked for again."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping, Sequence

import numpy as np

from onnxplain_server.core.arrays import Array, Indices

_MAX_BYTES = 32 << 20
"""Of the answers that are kept."""
_FULL = 0.5
"""Share of the slots that is filled at most: fuller, most new rows would find theirs taken."""
_STEPS = ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB), (31, 1))
"""Shifts and factors that mix the bits of a number: those of SplitMix64."""


class RowMemo:
    """Answers to the first rows of a request, of all outputs. Thread-safe.

    Each row has two slots, by a digest of 128 bits whose factors are drawn for the request. A row
    whose slots are taken is not kept: the first rows are those of the table, which come again in
    each sweep.

    Parameters
    ----------
    n_outputs : int
    """

    def __init__(self, n_outputs: int) -> None:
        row_bytes = 8 * (2 + n_outputs)
        self._size = 1 << (_MAX_BYTES // row_bytes).bit_length() - 1
        self._lock = threading.Lock()
        self._keys = np.zeros((self._size, 2), np.uint64)
        self._answers = np.empty((self._size, n_outputs))
        self._count = 0
        self._factors: dict[int, Array] = {}

    def keys(self, feeds: Mapping[str, Array]) -> Array:
        """Digest rows: (n_rows, 2)."""
        bits = np.concatenate([_bits(feeds[name]) for name in sorted(feeds)], axis=1)
        with np.errstate(over="ignore"):
            for shift, factor in _STEPS:
                bits = (bits ^ (bits >> np.uint64(shift))) * np.uint64(factor)
            keys: Array = bits @ self._factors_of(bits.shape[1])
        keys[:, 0] |= np.uint64(1)  # 0 marks a free slot
        return keys

    def find(self, keys: Array, into: Array) -> Array:
        """Copy known answers into (n_rows, n_outputs); return which rows are known: (n_rows,)."""
        known: Array = np.zeros(len(keys), dtype=bool)
        with self._lock:
            for slots in self._slots(keys):
                # Of most rows, the first half tells that they are new.
                near = np.flatnonzero(self._keys[slots, 0] == keys[:, 0])
                here = near[self._keys[slots[near], 1] == keys[near, 1]]
                into[here] = self._answers[slots[here]]
                known[here] = True
        return known

    def keep(self, keys: Array, answers: Array) -> None:
        """Keep answers in slots that are free."""
        if self._count >= _FULL * self._size:
            return
        waiting = np.arange(len(keys))
        with self._lock:
            for slots in self._slots(keys):
                is_free = self._keys[slots[waiting], 0] == 0
                free, waiting = waiting[is_free], waiting[~is_free]
                # Of several rows with one slot, the last one written has it.
                self._keys[slots[free]] = keys[free]
                has_slot = (self._keys[slots[free]] == keys[free]).all(axis=1)
                rows = free[has_slot]
                self._answers[slots[rows]] = answers[rows]
                self._count += len(rows)
                waiting = np.append(waiting, free[~has_slot])

    def _slots(self, keys: Array) -> Sequence[Indices]:
        """Return the two slots that rows may have."""
        bits = np.uint64(32), np.uint64(0)
        last = np.uint64(self._size - 1)
        return [((keys[:, 1] >> shift) & last).astype(np.intp) for shift in bits]

    def _factors_of(self, width: int) -> Array:
        if width not in self._factors:
            drawn = np.frombuffer(secrets.token_bytes(16 * width), np.uint64)
            self._factors[width] = drawn.reshape(width, 2)
        return self._factors[width]


def distinct_rows(keys: Array) -> tuple[Indices | None, Indices | None]:
    """Return positions of distinct rows, and the one of each row; None twice if all are.

    Parameters
    ----------
    keys : (n_rows, 2)
    """
    ordered = np.sort(keys[:, 0])
    if not (ordered[1:] == ordered[:-1]).any():
        return None, None
    _, first, inverse = np.unique(keys, axis=0, return_index=True, return_inverse=True)
    return first, inverse.ravel()


def _bits(values: Array) -> Array:
    """Return the bits of values, (n_rows, width), as whole numbers of 64 bits."""
    if values.dtype == object:
        flat = np.fromiter(map(hash, values.ravel().tolist()), np.int64, values.size)
        return flat.reshape(values.shape).view(np.uint64)
    if values.dtype.kind in "fiub":
        contiguous = np.ascontiguousarray(values)
        return contiguous.view(f"u{values.dtype.itemsize}").astype(np.uint64)
    raise TypeError(values.dtype)
