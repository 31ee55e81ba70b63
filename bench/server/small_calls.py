"""Small calls over gRPC: curves by trees, computed and from the cache, beside cached predictions.

python -m bench.server.small_calls

Each call brings a model and 500 rows that the server knows. The counterpart asks the black-box
engine for the same curves, whose predictions the server has in its cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import median

from bench.server import load_generator as generator
from bench.server.capacity import CURVES, Work
from bench.server.server_process import Server, served
from bench.speed_table.row import Row, Unit, in_turn, lines

SECONDS, WARM_UP_SECONDS = 3.0, 2.0
CACHED = Work(CURVES.name, {**CURVES.request, "engine": "BLACK_BOX"})


def latency(server: Server, work: Work, seconds: float = SECONDS) -> float:
    """Return the median seconds of a call by one caller."""
    calls = generator.closed_loop(server.endpoint, work.message, seconds, 1)
    others = {each.code for each in calls} - generator.ANSWERS
    if others:
        raise RuntimeError(f"{work.name}: {', '.join(sorted(others))}")
    return median(each.seconds for each in calls)


def rows() -> Iterator[Row]:
    """Measure."""
    generator.build()
    with served(cache_bytes=0) as computing, served() as caching:
        for name, server, wanted in (
            ("statistics not cached", computing, 0.41),
            ("the same again, from the cache", caching, 0.83),
        ):
            latency(server, CURVES, WARM_UP_SECONDS)
            latency(caching, CACHED, WARM_UP_SECONDS)
            found = in_turn(partial(latency, server, CURVES), partial(latency, caching, CACHED))
            yield Row(
                f"6 curves by the trees engine over gRPC, 500 rows, model and table known: {name}",
                Unit.SECONDS,
                found[0],
                "the same curves by the black-box engine, from cached predictions",
                found[1],
                wanted,
            )


def main() -> None:
    for line in lines(rows()):
        print(line)


if __name__ == "__main__":
    main()
