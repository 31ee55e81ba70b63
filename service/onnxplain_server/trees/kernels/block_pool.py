"""Block pool: a thread pool over blocks of one computation, with a cancellation check per block."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Executor, Future
from typing import TypeVar

from onnxplain_server.effects.ledger import Ledger

_T = TypeVar("_T")
_R = TypeVar("_R")


class BlockPool:
    """Runs blocks of work in parallel.

    Blocks do not depend on the number of threads, and each writes its own part of the
    result, so that sums keep their order.

    Parameters
    ----------
    threads : Executor
        Its threads must not wait for other blocks of this pool.
    ledger : Ledger
        Checks for cancellation before each block.

    Attributes
    ----------
    ledger : Ledger
    """

    def __init__(self, threads: Executor, ledger: Ledger) -> None:
        self._threads = threads
        self.ledger = ledger

    def run(self, function: Callable[[_T], _R], parts: Iterable[_T]) -> list[_R]:
        """Run a function on parts; results are in the order of the parts.

        Raises
        ------
        ExplainError
            Where the request is cancelled or past its deadline; no further block starts.
        """
        waiting = list(parts)
        if len(waiting) == 1:  # which the calling thread would only wait for
            return [self._run_block(function, waiting[0])]
        futures = [self._threads.submit(self._run_block, function, part) for part in waiting]
        try:
            return [future.result() for future in futures]
        except BaseException:
            _cancel(futures)
            raise

    def stream(
        self, function: Callable[[_T], _R], parts: Iterable[_T], ahead: int
    ) -> Generator[_R, None, None]:
        """Yield the result of a function for each part, in their order; errors are those of `run`.

        While the caller uses one result, the threads compute the next: at most `ahead` results
        wait. Closing the iterator cancels them.
        """
        futures: deque[Future[_R]] = deque()
        try:
            for part in parts:
                if len(futures) == ahead:
                    yield futures.popleft().result()
                futures.append(self._threads.submit(self._run_block, function, part))
            while futures:
                yield futures.popleft().result()
        finally:
            _cancel(futures)

    def _run_block(self, function: Callable[[_T], _R], part: _T) -> _R:
        self.ledger.spend(0, 0)  # raises where the request is cancelled
        return function(part)


def run_blocks(
    pool: BlockPool | None, function: Callable[[_T], _R], parts: Iterable[_T]
) -> list[_R]:
    """Run a function on parts: in a pool, or without one in the calling thread."""
    return [function(part) for part in parts] if pool is None else pool.run(function, parts)


def _cancel(futures: Iterable[Future[_R]]) -> None:
    """Cancel blocks that have not started, and wait for the others, which write shared arrays."""
    for running in [future for future in futures if not future.cancel()]:
        running.exception()


def blocks(count: int, size: int) -> list[tuple[int, int]]:
    """Divide range(count) into blocks [start, stop) of at most `size`."""
    return [(start, min(start + size, count)) for start in range(0, count, size)]
