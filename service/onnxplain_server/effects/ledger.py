"""Progress ledger: rows planned, done and predicted, and cache hits of one computation."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence

from onnxplain_server.core.arrays import Matrix, unpack
from onnxplain_server.core.interfaces import ComputationHost


class Ledger:
    """Counts progress, reports it to the host and passes cache traffic on. Thread-safe.

    Attributes
    ----------
    predicted : int
        Rows that the model was asked to predict.
    hits, misses : int
        Effects that the cache had, and did not have.
    is_planned : bool
        Whether rows are part of a plan; others measure the pace of the model.
    """

    is_planned = True

    def __init__(self, host: ComputationHost) -> None:
        self._host = host
        self._lock = threading.Lock()
        self._done = 0
        self._planned = 0
        self.predicted = 0
        self.hits = 0
        self.misses = 0

    def reserve(self, rows: int) -> None:
        """Plan rows. Call it before the first `spend`, since plans never rise."""
        self._planned += rows

    def release(self, rows: int) -> None:
        """Release planned rows that are not needed after all.

        Raises
        ------
        ExplainError
            See `spend`.
        """
        self._advance(done=0, planned=-rows, predicted=0)

    def spend(self, rows: int, predicted: int) -> None:
        """Report planned rows as done, of which `predicted` were predicted.

        Raises
        ------
        ExplainError
            Where the request is cancelled or past its deadline.
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
        """Return a ledger for rows outside the plan, which counts them here as predicted only."""
        return _Unplanned(self._host, self)

    def cache_get(
        self, names: Sequence[Sequence[str]], shapes: Sequence[tuple[int, ...]]
    ) -> list[list[Matrix] | None]:
        """Look effects up in the cache, each of several arrays, all at once.

        Parameters
        ----------
        names : for each effect, the names of its arrays
        shapes : for each effect, the shape of each of its arrays

        Returns
        -------
        list
            The arrays of each effect, or None where one is missing or damaged.
        """
        flat = [name for group in names for name in group]
        entries = iter(self._host.cache_get(flat) if flat else [])
        effects: list[list[Matrix] | None] = []
        for group, shape in zip(names, shapes, strict=True):
            packed = [next(entries) for _ in group]
            arrays = [unpack(p, shape) for p in packed if p is not None]
            intact = [a for a in arrays if a is not None]
            effects.append(intact if len(intact) == len(group) else None)
        misses = sum(effect is None for effect in effects)
        with self._lock:
            self.hits += len(effects) - misses
            self.misses += misses
        return effects

    def get_bytes(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """Look values up that are no effects: they count neither as hits nor as misses."""
        return self._host.cache_get(names)

    def put_bytes(self, entries: Mapping[str, bytes]) -> None:
        """Store values, or packed arrays."""
        self._host.cache_put(entries)


class _Unplanned(Ledger):
    """Ledger that reports predicted rows to another one, without progress or cache.

    A trial tells how long something takes, which it would not if the cache had the answer.
    """

    is_planned = False

    def __init__(self, host: ComputationHost, ledger: Ledger) -> None:
        super().__init__(host)
        self._ledger = ledger

    def spend(self, rows: int, predicted: int) -> None:  # noqa: ARG002 - not planned
        self._ledger.spend(0, predicted)

    def release(self, rows: int) -> None:  # noqa: ARG002 - not planned
        self._ledger.spend(0, 0)

    def cache_get(
        self,
        names: Sequence[Sequence[str]],
        shapes: Sequence[tuple[int, ...]],  # noqa: ARG002 - nothing is looked up
    ) -> list[list[Matrix] | None]:
        return [None] * len(names)

    def get_bytes(self, names: Sequence[str]) -> Sequence[bytes | None]:
        return [None] * len(names)

    def put_bytes(self, entries: Mapping[str, bytes]) -> None:
        """Store nothing."""
