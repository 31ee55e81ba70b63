"""Small calls over gRPC: curves by trees, computed and from the cache, and values of one row.

python -m bench.server.small_calls

Each call brings a model and rows that the server knows. The counterpart of curves asks the
black-box engine for the same ones, whose predictions the server has in its cache; that of a row's
values are curves on the same rows. A worker keeps the tables of a background for the next row.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from statistics import median

from bench.server import load_generator as generator
from bench.server.capacity import CURVES, TREE_COLUMNS, TREES, Work, make_work
from bench.server.server_process import Server, served
from bench.speed_table.row import Row, Unit, in_turn, lines

SECONDS, WARM_UP_SECONDS = 3.0, 2.0
CACHED = Work(CURVES.name, {**CURVES.request, "engine": "BLACK_BOX"})
BACKGROUND = make_work("6 curves", TREES, TREE_COLUMNS, "partialDependence", 1_000)
GIVEN = {"columns": [{"name": name, "numbers": [3.0 * k]} for k, name in enumerate(TREE_COLUMNS)]}
"""A row that is not in the table."""


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
        yield from _values_of_a_row(computing)


def _values_of_a_row(server: Server) -> Iterator[Row]:
    """Measure Shapley values of a row of the table, and of another one."""
    latency(server, BACKGROUND, WARM_UP_SECONDS)
    for name, options in (
        ("of the table", {"rowIndices": [7]}),
        ("given by its values", {"explainedRows": GIVEN}),
    ):
        work = Work(name, {**BACKGROUND.request, "methods": [{"attributions": options}]})
        latency(server, work, WARM_UP_SECONDS)
        found = in_turn(partial(latency, server, work), partial(latency, server, BACKGROUND))
        yield Row(
            f"Shapley values of a row {name}, against 1,000 rows, over gRPC",
            Unit.SECONDS,
            found[0],
            "6 curves on these rows",
            found[1],
        )


def main() -> None:
    for line in lines(rows()):
        print(line)


if __name__ == "__main__":
    main()
