"""Coverage of intervals from 500 rows: how often they contain the statistics of all rows.

The table is that of the houses of Miami. It is sorted by place, so rows are drawn at random.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import onnx
import pyarrow.csv
from onnxplain_server.methods import interactions
from onnxplain_server.methods.resampling import Resampling

from bench.shared import engines

MIAMI = Path(__file__).parents[2] / "examples" / "miami"
FEATURES = ("OCEAN_DIST", "TOT_LVG_AREA", "LND_SQFOOT", "structure_quality", "age", "month_sold")
DRAWS, ROWS, REPEATS, LEVEL = 200, 500, 200, 0.9
LEAST = 0.001
"""Statistics below it are not judged."""
STRONGEST = 3
"""Pairs that are judged."""

Found = dict[tuple[str, ...], interactions.Statistic]


def statistics(engine: engines.Trees, rows: engines.Rows, repeats: int) -> Found:
    options = interactions.Options(
        pairwise_feature_count=len(FEATURES),
        resampling=Resampling(repeats, confidence_level=LEVEL),
    )
    found = engines.interacting(engine, rows, options, FEATURES)
    return {statistic.features: statistic for statistic in (*found.overall, *found.pairwise)}


def judged(whole: Found) -> list[tuple[str, ...]]:
    """H²_j that are no trifle, and the strongest pairs, by H²_jk and by its numerator."""
    overall = [key for key in whole if len(key) == 1 and whole[key].values[0] > LEAST]
    pairs = [key for key in whole if len(key) == 2]
    by_value = sorted(pairs, key=lambda key: -whole[key].values[0])[:STRONGEST]
    by_size = sorted(pairs, key=lambda key: -whole[key].numerators[0])[:STRONGEST]
    return overall + list(dict.fromkeys(by_value + by_size))


def main() -> None:
    table = pyarrow.csv.read_csv(MIAMI / "miami_housing.csv.gz")
    rows = np.stack([np.asarray(table[name], np.float32) for name in FEATURES], axis=1)
    with ThreadPoolExecutor(engines.THREADS) as threads:
        engine = engines.trees(onnx.load(MIAMI / "miami.onnx"), threads)
        whole = statistics(engine, rows, 0)
        held = dict.fromkeys(judged(whole), 0)
        for seed in range(DRAWS):
            drawn = np.random.default_rng(seed).choice(len(rows), ROWS, replace=False)
            found = statistics(engine, rows[np.sort(drawn)], REPEATS)
            for key in held:
                spread = found[key].spread
                if spread is not None:
                    held[key] += bool(spread.lower[0] <= whole[key].values[0] <= spread.upper[0])
    print(f"{DRAWS} draws of {ROWS} rows, {REPEATS} replicates, {LEVEL:.0%} intervals\n")
    for key, count in held.items():
        title, value = " × ".join(key), whole[key].values[0]
        print(f"{title:<34} {value:8.4f}  held {count / DRAWS:.1%}")
    print("\n80 to 97 % are wanted")


if __name__ == "__main__":
    main()
