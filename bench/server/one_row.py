"""Attributions of one row over gRPC, beside curves of all features on the same rows.

python -m bench.server.one_row

A call explains one row against 1,000 that the server knows: a row of the table, and one given by
its values. Tables of a background are kept by a worker, as for the next rows of a page's reader.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from bench.server import load_generator as generator
from bench.server.capacity import TREE_COLUMNS, TREES, Work, make_work
from bench.server.server_process import served
from bench.server.small_calls import WARM_UP_SECONDS, latency
from bench.speed_table.row import Row, Unit, in_turn, lines

ROWS = 1_000
CURVES = make_work("curves", TREES, TREE_COLUMNS, "partialDependence", ROWS)
GIVEN = {"columns": [{"name": name, "numbers": [3.0 * k]} for k, name in enumerate(TREE_COLUMNS)]}


def rows() -> Iterator[Row]:
    """Measure."""
    generator.build()
    with served(cache_bytes=0) as server:
        latency(server, CURVES, WARM_UP_SECONDS)
        for name, options in (
            ("of the table", {"rowIndices": [7]}),
            ("given by its values", {"explainedRows": GIVEN}),
        ):
            work = Work(name, {**CURVES.request, "methods": [{"attributions": options}]})
            latency(server, work, WARM_UP_SECONDS)
            found = in_turn(partial(latency, server, work), partial(latency, server, CURVES))
            counterpart = "6 curves on these rows"
            text = f"Shapley values of a row {name}, against {ROWS:,} rows, over gRPC"
            yield Row(text, Unit.SECONDS, found[0], counterpart, found[1])


def main() -> None:
    for line in lines(rows()):
        print(line)


if __name__ == "__main__":
    main()
