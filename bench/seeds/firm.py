"""Results of the FIRM paper's figures and printed numbers, by onnxplain.

python -m bench.seeds.firm [figure_1] [figure_2] [figure_3] [equation_2]
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import combinations

import numpy as np
import onnxplain
from onnx import TensorProto, helper, numpy_helper
from onnxplain.v1 import firm_pb2
from sklearn.svm import SVC

from bench.accuracy import firm_study
from bench.seeds import gattaca
from bench.seeds.drawing import draw
from bench.seeds.kept import Result, keep

_TRUE = {
    "x1 and x2", "x1 and not x2", "not x1 and not x2", "x1 and x3", "x1 and not x3",
    "not x2 and x3", "not x2 and not x3",
}  # fmt: skip
_CORE = slice(27, 44)
"""Starts of the motif: 35, and somewhat more than a standard deviation to both sides."""
_TOLD = slice(20, 51)
"""Starts of which the paper speaks."""


def figure_1() -> Result:
    """The Boolean formula, by a machine of degree 2 and by the labels."""
    machine = firm_study.boolean_machine()
    with onnxplain.local() as client:
        found = firm_study.boolean(client)
    values = {one.feature: np.asarray(one.values) for one in found.firm.importances}
    by_machine = {name: float(value[0]) for name, value in values.items()}
    by_labels = {name: float(value[1]) for name, value in values.items()}
    weights = {name: abs(weight) for name, weight in _weights(machine).items()}
    ranked = sorted(by_machine, key=lambda name: -abs(by_machine[name]))
    strongest = sorted(weights, key=lambda name: -weights[name])
    pairs = {name: value for name, value in by_labels.items() if " and " in name}
    lowest = min(pairs, key=lambda name: pairs[name])
    others = {name: value for name, value in pairs.items() if name not in _TRUE | {lowest}}
    return Result(
        values={
            "s at (1, 0)": float(machine.decision_function([[1.0, 0.0, 0.0]])[0]),
            "s at (0, 1)": float(machine.decision_function([[0.0, 1.0, 0.0]])[0]),
            **{f"w of {name}": weight for name, weight in _weights(machine).items()},
            **{f"Q of {name}": value for name, value in by_machine.items()},
            **{f"Q of {name}, labels": value for name, value in by_labels.items()},
            "seven pairs": float(sum(value > 0 for value in pairs.values())),
        },
        claims={
            "at_0_1": bool(abs(machine.decision_function([[0.0, 1.0, 0.0]])[0] - 5 / 3) < 1e-3),
            "weights": strongest[:2] == ["x2", "x1 and x2"],
            "first": ranked[0] == "x1 and not x2",
            "first_swapped": ranked[0] == "not x1 and x2"
            and {"not x1", "not x2"} <= set(ranked[1:5]),
            "seven": {name for name, value in pairs.items() if value > 0} == _TRUE,
            "one_false": lowest == "not x1 and x2" and pairs[lowest] < 2 * max(others.values()),
            "slightly_negative": set(others)
            == {"not x1 and x3", "not x1 and not x3", "x2 and x3", "x2 and not x3"}
            and all(pairs[lowest] < value < 0 for value in others.values()),
        },
        rows="the 8 rows of {0, 1}^3",
        packages=("scikit-learn",),
    )


def _weights(machine: SVC) -> dict[str, float]:
    """Return the weights of x_j, as x_j^2 = x_j, and of the pairs, sqrt(2) x_j x_k."""
    vectors, duals = machine.support_vectors_, machine.dual_coef_[0]
    single = {f"x{j + 1}": float(duals @ vectors[:, j] ** 2) for j in range(3)}
    pairs = {
        f"x{j + 1} and x{k + 1}": float(np.sqrt(2) * duals @ (vectors[:, j] * vectors[:, k]))
        for j, k in combinations(range(3), 2)
    }
    return single | pairs


def figure_2() -> Result:
    """Two Gaussian classes in three dimensions, the third without a difference."""
    with onnxplain.local() as client:
        found = firm_study.gaussian(client).firm.importances
    slopes = {one.feature: float(one.values[0]) for one in found}
    errors = {one.feature: float(one.standard_errors[0]) for one in found}
    return Result(
        values=slopes,
        errors=errors,
        claims={
            "second": max(slopes, key=lambda name: abs(slopes[name])) == "x2",
            "third": abs(slopes["x3"]) < 2 * errors["x3"] and slopes["x1"] > 4 * errors["x1"],
        },
        seed=0,
        rows="600 rows, 300 of each class, means 0.5 and 1.5 to both sides of 0",
        packages=("scikit-learn",),
    )


def figure_3() -> Result:
    """GATTACA, by a machine with the weighted degree kernel with shifts."""
    sequences, classes = gattaca.data()
    weights = gattaca.listed(gattaca.trained(sequences, classes))
    asked = onnxplain.FirmSequences(
        weights=weights, length=len(sequences[0]), motifs=["GATTACA"], max_length=1
    )
    with onnxplain.local() as client:
        found = client.explain(None, None, onnxplain.Firm(sequences=asked))
    draw(found, "firm-motif-GATTACA", "firm-motif-gattaca-shifts.png")
    by_count = list(found.firm.message.sequences.motifs[0].mismatches)
    by_firm = _in_deviations(by_count, "differences", "difference_standard_deviations")
    by_weight = _in_deviations(by_count, "weights", "weight_standard_deviations")
    peak = int(np.argmax(by_count[0].importances))
    planted = [text for text, label in zip(sequences, classes, strict=True) if label > 0]
    unchanged = float(np.mean(["GATTACA" in text for text in planted]))
    return Result(
        values={
            "peak": float(peak),
            **{f"Q at {n} mismatches": float(by_firm[n][_CORE].mean()) for n in range(3)},
            **{f"w at {n} mismatches": float(by_weight[n][_CORE].mean()) for n in range(3)},
            "lowest Q of the motif": float(by_firm[0][_TOLD].min()),
            "lowest Q at 1 mismatch": float(by_firm[1][_TOLD].min()),
            "lowest w of the motif": float(by_weight[0][_TOLD].min()),
            "highest w of the motif": float(by_weight[0][_TOLD].max()),
            "unchanged": unchanged,
        },
        errors={"unchanged": float(np.sqrt(0.25 * 0.75 / len(planted)))},
        claims={
            "peak": 20 <= peak <= 50,
            "confident": bool((by_firm[0][_TOLD] > 1).all()),
            "one_mismatch": bool((by_firm[1][_TOLD] > 1).all()),
            "erratic": bool((by_weight[0][_CORE] > by_weight[1][_CORE]).mean() < 0.5),
            "two_random": bool((np.abs(by_weight[2][_TOLD]) < 1).all()),
            "one_random": bool((np.abs(by_weight[1][_TOLD]) < 1).all()),
        },
        rows="2,500 sequences of each class, 70 letters; up to 7 letters, shifts up to 7",
        packages=("scikit-learn",),
    )


def _in_deviations(
    by_count: list[firm_pb2.FirmMismatches], values: str, deviations: str
) -> np.ndarray:
    """Return means over strings in standard deviations of irrelevant strings: (3, n_starts)."""
    spread = np.array(getattr(by_count[-1], deviations))
    return np.array([np.array(getattr(by_count[count], values)) / spread for count in range(3)])


def equation_2() -> Result:
    """The gradient of a Gaussian kernel expansion at 0, and Equation 9 from it."""
    random = np.random.default_rng(0)
    covariance = 0.5 ** np.abs(np.subtract.outer(np.arange(3), np.arange(3)))
    rows = random.multivariate_normal(np.zeros(3), covariance, 2_000)
    rows = (rows - rows.mean(axis=0)).astype(np.float32)
    centers, duals, width = rows[:20].astype(float), random.normal(size=20), 2.0
    with onnxplain.local() as client:
        found = client.explain(
            _expansion(centers, duals, width),
            {f"x{j + 1}": rows[:, j] for j in range(3)},
            onnxplain.Firm(estimator="TAYLOR"),
        )
    kernel = np.exp(-((centers**2).sum(axis=1)) / width**2)
    gradient = (duals * 2 * kernel / width**2) @ centers
    empirical = np.cov(rows.T.astype(float), ddof=0)
    expected = np.abs(empirical @ gradient) / np.sqrt(np.diag(empirical))
    ours = np.array([one.values[0] for one in found.firm.importances])
    return Result(
        values={f"Q of x{j + 1}": float(value) for j, value in enumerate(ours)},
        claims={"closed_form": bool(np.allclose(ours, expected, rtol=1e-3))},
        seed=0,
        rows="2,000 Gaussian rows, 20 of them the centers of kernels",
    )


def _expansion(centers: np.ndarray, duals: np.ndarray, width: float) -> bytes:
    """Make a model of sum_i a_i exp(-|x - x_i|^2 / width^2)."""
    constants = {
        "centers": centers[None],
        "scale": np.array([-1 / width**2]),
        "duals": duals[:, None],
        "axis": np.array([1]),
        "last": np.array([2]),
    }
    nodes = [
        ("Unsqueeze", ["x", "axis"], "points"),
        ("Sub", ["points", "centers"], "apart"),
        ("Mul", ["apart", "apart"], "squares"),
        ("ReduceSum", ["squares", "last"], "distances"),
        ("Squeeze", ["distances", "last"], "flat"),
        ("Mul", ["flat", "scale"], "exponents"),
        ("Exp", ["exponents"], "kernels"),
        ("MatMul", ["kernels", "duals"], "score"),
    ]
    graph = helper.make_graph(
        [helper.make_node(kind, inputs, [output]) for kind, inputs, output in nodes],
        "expansion",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", centers.shape[1]])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["n", 1])],
        [
            numpy_helper.from_array(
                value if value.dtype == np.int64 else value.astype(np.float32), name
            )
            for name, value in constants.items()
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())


MAKERS: Mapping[str, Callable[[], Result]] = {
    "figure_1": figure_1,
    "figure_2": figure_2,
    "figure_3": figure_3,
    "equation_2": equation_2,
}

if __name__ == "__main__":
    keep("firm", MAKERS)
