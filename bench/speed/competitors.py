"""Trees engine against other libraries with the same numbers, all run in one process."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import combinations

import numpy as np
import onnxruntime as ort
import shap
from onnx import ModelProto
from onnxplain_server.methods import interactions
from sklearn.inspection import partial_dependence

from bench.shared import engines, ensembles

RUNS = 3
ROWS, WIDTH, PAIRED = 500, 10, 5
"""All H²_j, H², and the ten pairs of the first five features."""
SHAP_BACKGROUND = 100
SHAP_ROWS = 100


def stacked(model: ModelProto, rows: engines.Rows) -> Callable[[], None]:
    """The way of hstats: for each partial dependence one call with all n · n rows."""
    session = ort.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    n, width = rows.shape
    groups: list[tuple[int, ...]] = [(j,) for j in range(width)]
    groups += [tuple(k for k in range(width) if k != j) for j in range(width)]
    groups.extend(combinations(range(PAIRED), 2))

    def run() -> None:
        session.run(None, {"rows": rows})
        for group in groups:
            fed = np.tile(rows, (n, 1))
            fed[:, group] = np.repeat(rows[:, group], n, axis=0)
            session.run(None, {"rows": fed})[0].reshape(n, n).mean(axis=1)

    return run


def ratio(theirs: Callable[[], object], ours: Callable[[], object], runs: int = RUNS) -> str:
    """Time both in turn."""
    ours()
    pairs = [(engines.seconds(theirs), engines.seconds(ours)) for _ in range(runs)]
    slow, fast = (statistics.median(times) for times in zip(*pairs, strict=True))
    median = statistics.median(slow / fast for slow, fast in pairs)
    return f"{slow:.2f} s, trees engine {fast:.4f} s: {median:,.0f} times"


def beside_predicting(threads: ThreadPoolExecutor) -> None:
    """H², all H²_j and ten pairs of 500 rows, from rows to statistics, with the model loaded."""
    model = ensembles.to_onnx(ensembles.boosting(300, 5, WIDTH))
    rows = ensembles.rows(ROWS, WIDTH, 1)
    options = interactions.Options(pairwise_feature_count=PAIRED)
    exact, predicting = engines.trees(model, threads), engines.Predicting(model, threads)

    def ours() -> None:
        engines.interacting(exact, rows, options)

    engines.interacting(predicting, rows, options)
    theirs = ratio(stacked(model, rows), ours)
    print(f"one stacked onnxruntime call per function, as hstats: {theirs} (wanted: 200)")
    black_box = ratio(lambda: engines.interacting(predicting, rows, options), ours)
    print(f"our black-box engine: {black_box} (wanted: 80)")


def for_orientation(threads: ThreadPoolExecutor) -> None:
    """Beside scikit-learn's brute force and shap's interventional explainer, both asked for less.

    scikit-learn gives F_j only; shap gives no partial dependence, but Shapley values against a
    background, here of 100 rows.
    """
    fitted = ensembles.boosting(300, 5, WIDTH)
    rows = ensembles.rows(ROWS, WIDTH, 1)
    exact = engines.trees(ensembles.to_onnx(fitted), threads)
    bound = engines.background(rows)

    def ours() -> None:
        for _ in exact.on(bound).single(range(WIDTH)):
            pass

    def brute() -> None:
        for j in range(WIDTH):
            values = {j: np.unique(rows[:, j])}
            partial_dependence(fitted, rows, [j], method="brute", custom_values=values)

    def shapley() -> None:
        explainer = shap.TreeExplainer(fitted, rows[:SHAP_BACKGROUND])
        explainer.shap_values(rows[:SHAP_ROWS], check_additivity=False)

    brute_ratio, shap_ratio = ratio(brute, ours, 1), ratio(shapley, ours)
    print(f"F_j of all features at {ROWS} rows, scikit-learn's brute force: {brute_ratio}")
    print(f"shap's interventional TreeExplainer, {SHAP_ROWS} rows against {SHAP_BACKGROUND},")
    print(f"  beside all F_j and F_\\j of {ROWS} rows: {shap_ratio}")


def main() -> None:
    with ThreadPoolExecutor(engines.THREADS) as threads:
        beside_predicting(threads)
        for_orientation(threads)


if __name__ == "__main__":
    main()
