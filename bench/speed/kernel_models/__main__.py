"""Kernel models by the additive engine beside the black box: all pairs of 8 features.

Seconds are of processor time in one process, both engines in one run. The models are a support
vector machine of float32, and a Gaussian process of float64, as skl2onnx writes them. Where all
hybrid rows take too long, some are predicted, and the time of all is extrapolated.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from onnxplain_server.adapters.runner.in_process import InProcess
from skl2onnx import to_onnx
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from bench.speed.additive import Case, request_of, timed

_FEATURES, _ROWS, _KERNELS = 8, 500, 1_000
_FEW_ROWS = 60
"""Rows whose hybrid rows are predicted by the Gaussian process."""
_QUESTIONS: Mapping[str, Mapping[str, Any]] = {
    "H² and all 28 pairs": {"interactions": {"pairwise_feature_count": _FEATURES}},
}


def models() -> Iterator[Case]:
    rng = np.random.default_rng(0)
    rows = rng.uniform(size=(2 * _KERNELS, _FEATURES))
    target = 10 * np.sin(np.pi * rows[:, 0] * rows[:, 1]) + 20 * (rows[:, 2] - 0.5) ** 2
    target += 10 * rows[:, 3] + 5 * rows[:, 4] + rng.normal(size=len(rows))
    columns = {f"x{j}": rows[:_ROWS, j] for j in range(_FEATURES)}
    train = slice(_KERNELS)
    machine = make_pipeline(StandardScaler(), SVR(C=10, epsilon=0)).fit(rows[train], target[train])
    kernel = ConstantKernel(50.0) * RBF([1.0] * _FEATURES) + WhiteKernel(1.0)
    process = GaussianProcessRegressor(kernel, optimizer=None).fit(rows[train], target[train])
    for name, model, kind in (
        ("support vectors", machine, np.float32),
        ("Gaussian process", process, np.float64),
    ):
        written = to_onnx(model, rows[:1].astype(kind)).SerializeToString()
        yield Case(f"{name}, {_KERNELS:,} kernels", written, columns)


def black_box(runner: InProcess, case: Case, method: Mapping[str, Any]) -> tuple[float, int, str]:
    """Return seconds and predictions for all rows, and a note where they are extrapolated."""
    if "process" not in case.name:
        question = {"methods": [method], "row_count": _ROWS}
        seconds, answer = timed(runner, request_of(case, question, "BLACK_BOX"))
        return seconds, int(answer.receipt.predicted_row_count), ""
    question = {"methods": [method], "row_count": _FEW_ROWS}
    seconds, answer = timed(runner, request_of(case, question, "BLACK_BOX"))
    times = (_ROWS / _FEW_ROWS) ** 2
    return seconds * times, int(answer.receipt.predicted_row_count * times), "≈ "


def main() -> None:
    runner = InProcess(threads=2)
    print("| Model | Question | ADDITIVE, s | BLACK_BOX, s | Ratio | Predictions |")
    print("|---|---|---:|---:|---:|---:|")
    for case in models():
        timed(runner, request_of(case, {"methods": [{"firm": {}}]}, "ADDITIVE"))  # loads the model
        for name, method in _QUESTIONS.items():
            question = {"methods": [method], "row_count": _ROWS}
            ours, _ = timed(runner, request_of(case, question, "ADDITIVE"))
            theirs, count, note = black_box(runner, case, method)
            line = f"| {case.name} | {name} | {ours:.2f} | {note}{theirs:.0f} |"
            print(f"{line} {theirs / ours:.0f} | {note}{count:,} |", flush=True)
    runner.close()


if __name__ == "__main__":
    main()
