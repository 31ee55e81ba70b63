"""Threads that share the work of one computation, block by block."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

from onnxplain_server.effects.ledger import Ledger

_T = TypeVar("_T")
_R = TypeVar("_R")


class BlockPool:
    """Runs blocks of work side by side.

    Blocks depend on the work alone, never on the number of threads, and each has
    its own part of the result, so that sums keep their order.

    Parameters
    ----------
    threads : ThreadPoolExecutor
        Its threads wait for nothing else of this pool.
    ledger : Ledger
        Asked before each block whether the answer is still wanted.

    Attributes
    ----------
    ledger : Ledger
        The same, for who keeps numbers of the work.
    """

    def __init__(self, threads: ThreadPoolExecutor, ledger: Ledger) -> None:
        self._threads = threads
        self.ledger = ledger

    def run(self, function: Callable[[_T], _R], parts: Iterable[_T]) -> list[_R]:
        """Run a function on parts; results in the order of the parts.

        Raises
        ------
        ExplainError
            Where the answer is no longer wanted; no further block is begun then.
        """
        waiting = [self._threads.submit(self._watched, function, part) for part in parts]
        try:
            return [future.result() for future in waiting]
        except BaseException:
            _abandon(waiting)
            raise

    def _watched(self, function: Callable[[_T], _R], part: _T) -> _R:
        self.ledger.spend(0, 0)
        return function(part)


def side_by_side(
    pool: BlockPool | None, function: Callable[[_T], _R], parts: Iterable[_T]
) -> list[_R]:
    """Run a function on parts: by a pool, or one after the other in the calling thread."""
    return [function(part) for part in parts] if pool is None else pool.run(function, parts)


def _abandon(waiting: Sequence[Future[_R]]) -> None:
    """Cancel what has not begun, and wait for the rest, which works on shared arrays."""
    for future in waiting:
        if not future.cancel():
            future.exception()


def blocks(count: int, size: int) -> list[tuple[int, int]]:
    """Divide a range into blocks [start, stop) of at most so many."""
    return [(start, min(start + size, count)) for start in range(0, count, size)]
