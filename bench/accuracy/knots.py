"""Error of effects at knots: snapped to the nearest knot, against linear interpolation.

A 10-64-64-1 network with smooth activations, 1,000 rows. Beside the true error of F_j stands
the estimate from every second knot, which users see.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np
from onnxplain_server.adapters.onnx import load
from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.core.rows import bind
from onnxplain_server.core.table import Table
from onnxplain_server.effects.background import merge
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.effects.black_box import BlackBox
from onnxplain_server.effects.interpolated import Interpolated
from onnxplain_server.effects.knots import choose_knots
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.predictor import Predictor

from bench.shared.network import WIDTHS, network
from bench.shared.null_host import NullHost

ROWS = 1_000
KNOT_COUNTS = (20, 50, 100)


def engine(threads: ThreadPoolExecutor) -> BlackBox:
    rng = np.random.default_rng(1)
    given = Table({f"x{j}": rng.normal(size=ROWS) for j in range(WIDTHS[0])}, ROWS)
    model = load(network(activation="Tanh"))
    predictor = Predictor(model, np.arange(1), Ledger(NullHost()), BatchSize(), threads)
    features = bind(model.inputs, given, (), ())
    return BlackBox(predictor, merge(features, np.ones(ROWS), np.arange(ROWS)), "RESPONSE")


def snapped(column: Vector, exact: Matrix, count: int) -> Matrix:
    """F_j at the knot nearest to each row's value."""
    knots = choose_knots(column, count).points
    nearest = knots[np.abs(column[:, None] - knots).argmin(axis=1)]
    row_of = {value: row for row, value in enumerate(column.tolist())}
    return exact[[row_of[value] for value in nearest.tolist()]]


def relative(difference: Matrix, exact: Matrix) -> float:
    return float(np.std(difference) / np.std(exact))


def main() -> None:
    with ThreadPoolExecutor(2) as threads:
        effects = engine(threads)
        exact = {single.feature: single.own for single in effects.single(range(WIDTHS[0]))}
        columns = effects.background.columns
        print("  relative root mean square error of F_j, mean over features")
        for count in KNOT_COUNTS:
            found = list(Interpolated(effects, count).single(range(WIDTHS[0])))
            snap = [
                relative(snapped(columns[j], exact[j], count) - exact[j], exact[j]) for j in exact
            ]
            linear = [relative(s.own - exact[s.feature], exact[s.feature]) for s in found]
            errors = [(s.feature, s.own_error) for s in found if s.own_error is not None]
            told = [float(error[0] / np.std(exact[j])) for j, error in errors]
            print(
                f"  {count} knots: snapped {np.mean(snap):.4f}, linear {np.mean(linear):.5f}, "
                f"estimated {np.mean(told):.5f}"
            )


if __name__ == "__main__":
    main()
