"""Forest of 500 trees grown full, 500 rows: a model that the process knows, beside predicting.

python -m bench.speed.full_forest

A process of its own asks for H², all H²_j and ten pairs of several tables by one client, which
keeps what depends on the model alone. The counterpart is what hstats does, one stacked onnxruntime
call per function, extrapolated from some of its rows: all of it takes ten minutes.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple

import onnx
import onnxplain
import pandas as pd

from bench.shared import ensembles
from bench.shared.processes import run
from bench.speed.trees import PAIRED, predicting
from bench.speed_table.row import RUNS, Row, Unit, lines, seconds

TREES, WIDTH, TRAINING_ROWS, ROWS = 500, 10, 5_000, 500
INTERACTIONS = onnxplain.Interactions(pairwise_feature_count=PAIRED)


class Times(NamedTuple):
    """Seconds of the first call with the model, of later calls, and the process's memory in MB."""

    first: float
    later: list[float]
    megabytes: float


def asking(path: Path) -> Times:
    """Ask in a process of its own."""
    done = run([sys.executable, "-m", "bench.speed.full_forest", str(path)])
    first, *later = json.loads(done.printed)
    return Times(first, later, done.megabytes)


def explain(path: Path) -> None:
    """Print the seconds of each call: each has another table."""
    small = ensembles.to_onnx(ensembles.boosting(3, 3, WIDTH)).SerializeToString()
    with onnxplain.local() as client:
        client.explain(small, _table(0), INTERACTIONS, plots=False)  # loads the loops
        content = path.read_bytes()
        times = []
        for seed in range(1, RUNS + 2):
            table = _table(seed)
            times.append(
                seconds(partial(client.explain, content, table, INTERACTIONS, plots=False))
            )
    print(json.dumps(times))


def _table(seed: int) -> pd.DataFrame:
    return pd.DataFrame(ensembles.rows(ROWS, WIDTH, seed), columns=[f"x{j}" for j in range(WIDTH)])


def rows() -> Iterator[Row]:
    """Measure."""
    model = ensembles.to_onnx(ensembles.forest(TREES, WIDTH, TRAINING_ROWS))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "forest.onnx"
        onnx.save(model, path)
        before = predicting(model, ensembles.rows(ROWS, WIDTH, 1))
        times = asking(path)
        after = predicting(model, ensembles.rows(ROWS, WIDTH, 1))
    work = f"H², 10 H²_j and 10 H²_jk, forest of {TREES} full trees, {ROWS} rows"
    memory = f"The process took {times.megabytes:,.0f} MB at most."
    yield Row(
        f"{work}: another table, the model known",
        Unit.SECONDS,
        times.later,
        "one stacked onnxruntime call per function, as hstats; extrapolated",
        [(before + after) / 2],
        wanted=600.0,
        note=memory,
        headline="Interactions of a forest of 500 full trees, 500 rows",
    )
    yield Row(
        f"{work}: the first call with the model",
        Unit.SECONDS,
        [times.first],
        "one stacked onnxruntime call per function, as hstats; extrapolated",
        [(before + after) / 2],
    )


def main() -> None:
    """Print rows; with the path of a model, explain it as `asking` wants."""
    if sys.argv[1:]:
        explain(Path(sys.argv[1]))
        return
    for line in lines(rows()):
        print(line)


if __name__ == "__main__":
    main()
