"""Kills of Dask workers: the bits of an answer of which a worker is killed again and again.

python -m bench.server.survival.dask_kills 5000000 20

Explains a file (H² of ten features, ten pairs, 300 trees) by two threads of this process, and by
two workers of one thread, of which the older one is killed and replaced every so many seconds.
"""

from __future__ import annotations

import sys
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bench.shared.dask_cluster import Cluster, cluster
from bench.speed.cluster import Explained, timed
from bench.speed.streaming import write


def main(count: int, seconds: float) -> None:
    """Print the times and the kills; raise ValueError where the answers differ."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        write(path, count)
        explained = Explained(path)
        wall, *_, expected = timed(lambda: explained.run(2))
        print(f"2 threads: {wall:.1f} s", flush=True)
        with cluster(2, 1) as dask, killing(dask, seconds) as kills:
            wall, *_, answer = timed(lambda: explained.run(1, dask.workers))
            print(f"2 workers: {wall:.1f} s, {len(kills)} kills", flush=True)
    if not kills:
        raise ValueError("no worker was killed: explain more rows")
    if answer != expected:
        raise ValueError("answers differ")
    print("equal bits")


@contextmanager
def killing(dask: Cluster, seconds: float) -> Iterator[list[int]]:
    """Kill and replace the older worker every so many seconds; the list grows by each."""
    kills: list[int] = []
    is_over = threading.Event()

    def kill() -> None:
        while not is_over.wait(seconds):
            dask.replace()
            kills.append(1)

    thread = threading.Thread(target=kill)
    thread.start()
    try:
        yield kills
    finally:
        is_over.set()
        thread.join()


if __name__ == "__main__":
    main(int(sys.argv[1]), float(sys.argv[2]))
