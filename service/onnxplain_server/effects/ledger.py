"""Counts of a computation: rows planned and done, rows predicted, numbers found in the cache."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from onnxplain_server.core.arrays import Matrix, pack, unpack
from onnxplain_server.core.interfaces import ComputationHost


class Ledger:
    """Passes on to the host what is asked of it, and counts. Safe for several threads.

    Attributes
    ----------
    predicted : int
        Rows that the model was asked to predict.
    hits, misses : int
        Effects found in the cache, and looked for in vain.
    """

    def __init__(self, host: ComputationHost) -> None:
        self._host = host
        self._lock = threading.Lock()
        self._done = 0
        self._planned = 0
        self.predicted = 0
        self.hits = 0
        self.misses = 0

    def reserve(self, rows: int) -> None:
        """Plan these rows; to be called before anything is spent, since plans never rise."""
        self._planned += rows

    def release(self, rows: int) -> None:
        """Take back a plan that turned out to be unnecessary.

        Raises
        ------
        ExplainError
            As `spend`.
        """
        self._advance(done=0, planned=-rows, predicted=0)

    def spend(self, rows: int, predicted: int) -> None:
        """Report planned rows as done, of which so many were predicted.

        Raises
        ------
        ExplainError
            Where the answer is no longer wanted.
        """
        self._advance(done=rows, planned=0, predicted=predicted)

    def _advance(self, done: int, planned: int, predicted: int) -> None:
        with self._lock:
            self._done += done
            self._planned += planned
            self.predicted += predicted
            progress = self._done, max(self._planned, self._done)
        self._host.advance(*progress)

    def unplanned(self) -> Ledger:
        """Give a ledger for rows that no plan has: here they count as predicted only."""
        return _Unplanned(self._host, self)

    def recall(
        self, names: Sequence[Sequence[str]], shape: Sequence[tuple[int, ...]]
    ) -> list[list[Matrix] | None]:
        """Look effects up, each of them several arrays; one round trip for all.

        Parameters
        ----------
        names : for each effect, the names of its arrays
        shape : for each effect, the shape of each of its arrays

        Returns
        -------
        list
            For each effect its arrays, or None where one is missing or damaged.
        """
        flat = [name for group in names for name in group]
        found = iter(self._host.cache_get(flat) if flat else [])
        effects: list[list[Matrix] | None] = []
        for group, expected in zip(names, shape, strict=True):
            packed = [next(found) for _ in group]
            arrays = [unpack(p, expected) for p in packed if p is not None]
            whole = [a for a in arrays if a is not None]
            effects.append(whole if len(whole) == len(group) else None)
        missing = sum(effect is None for effect in effects)
        with self._lock:
            self.hits += len(effects) - missing
            self.misses += missing
        return effects

    def remember(self, arrays: Mapping[str, Matrix]) -> None:
        """Offer arrays to the cache."""
        self._host.cache_put({name: pack(array) for name, array in arrays.items()})


class _Unplanned(Ledger):
    """Reports to another ledger what was predicted, but neither as planned nor as done."""

    def __init__(self, host: ComputationHost, whole: Ledger) -> None:
        super().__init__(host)
        self._whole = whole

    def spend(self, rows: int, predicted: int) -> None:  # noqa: ARG002 - as planned by nobody
        """See `Ledger.spend`."""
        self._whole.spend(0, predicted)
