"""Studies of the FIRM paper, repeated: Boolean data, Gaussian data, GATTACA (its Figures 1 to 3).

    python -m bench.accuracy.firm_study [FOLDER]

Prints the figures of docs/methods/firm.md, and writes its pictures into FOLDER, if there is one.
"""

from __future__ import annotations

import gzip
import json
import sys
from itertools import product
from pathlib import Path

import numpy as np
import onnxplain
import vl_convert
from onnx import TensorProto, helper, numpy_helper
from sklearn.svm import SVC, LinearSVC

_MACHINE = Path(__file__).parents[2] / "tests/golden/firm/gattaca/model.json.gz"
_ALPHABET = "ACGT"
_CORE = slice(27, 44)


def linear(weights: np.ndarray, constant: float = 0.0) -> bytes:
    """Make a linear model of one matrix."""
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["h"]), helper.make_node("Add", ["h", "b"], ["y"])],
        "linear",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", len(weights)])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1])],
        [
            numpy_helper.from_array(weights.reshape(-1, 1).astype(np.float32), "w"),
            numpy_helper.from_array(np.array([constant], dtype=np.float32), "b"),
        ],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())


def quadratic(machine: SVC) -> bytes:
    """Make a model of a machine with the kernel (x'z)^2."""
    constants = {
        "vectors": machine.support_vectors_.T,
        "duals": machine.dual_coef_.T,
        "b": machine.intercept_,
    }
    graph = helper.make_graph(
        [
            helper.make_node("MatMul", ["x", "vectors"], ["products"]),
            helper.make_node("Mul", ["products", "products"], ["squares"]),
            helper.make_node("MatMul", ["squares", "duals"], ["sum"]),
            helper.make_node("Add", ["sum", "b"], ["score"]),
        ],
        "quadratic",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", machine.n_features_in_])],
        [helper.make_tensor_value_info("score", TensorProto.FLOAT, ["n", 1])],
        [numpy_helper.from_array(v.astype(np.float32), name) for name, v in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    return bytes(model.SerializeToString())


def truth_table() -> tuple[np.ndarray, np.ndarray]:
    """Return all rows of three truth values, and x1 or (not x1 and not x2) as 1 or -1."""
    rows = np.array(list(product([0.0, 1.0], repeat=3)))
    return rows, np.where((rows[:, 0] == 1) | (rows[:, 1] == 0), 1.0, -1.0)


def boolean_machine() -> SVC:
    """Train a machine of degree 2 on the truth table, with hardly any slack."""
    machine = SVC(kernel="poly", degree=2, gamma=1, coef0=0, C=1e6, tol=1e-9)
    return machine.fit(*truth_table())


def boolean(client: onnxplain.Client) -> onnxplain.Explanations:
    """x1 or (not x1 and not x2), by a machine that cannot tell it, and by the labels."""
    rows, truth = truth_table()
    table = {"x1": rows[:, 0], "x2": rows[:, 1], "x3": rows[:, 2], "truth": truth}
    pairs = onnxplain.FirmPairs(features=["x1", "x2", "x3"], include_negations=True)
    found = client.explain(
        quadratic(boolean_machine()),
        table,
        onnxplain.Firm(pairs=[pairs], source="BOTH"),
        target_column="truth",
    )
    print("Boolean data: feature, importance by the machine, by the labels")
    for one in found.firm.importances:
        print(f"  {one.feature:24} {one.values[0]:7.4f} {one.values[1]:7.4f}")
    return found


def gaussian(client: onnxplain.Client) -> onnxplain.Explanations:
    """Two classes, told apart by x1 a little, by x2 more, by x3 not at all."""
    random = np.random.default_rng(0)
    labels = np.repeat([-1.0, 1.0], 300)
    rows = random.normal(size=(600, 3)) + np.outer(labels, [0.5, 1.5, 0.0])
    machine = LinearSVC(C=0.1, random_state=0).fit(rows, labels)
    table = dict(zip(["x1", "x2", "x3"], rows.T, strict=True))
    found = client.explain(
        linear(machine.coef_[0], machine.intercept_[0]),
        table,
        onnxplain.Firm(estimator="SLOPE", repeat_count=500),
    )
    print("Gaussian data: feature, importance, standard error")
    for one in found.firm.importances:
        print(f"  {one.feature} {one.values[0]:7.3f} {_errors(one)[0]:.3f}")
    return found


def _errors(one: onnxplain.FirmImportance) -> np.ndarray:
    return one.standard_errors


def gattaca(client: onnxplain.Client) -> onnxplain.Explanations:
    """A machine on strings of up to 3 letters, asked about one of 7."""
    machine = json.loads(gzip.decompress(_MACHINE.read_bytes()))
    weights = {
        ("".join(letters), position): row[code]
        for k in (1, 2, 3)
        for position, row in enumerate(machine["weights"][str(k)])
        for code, letters in enumerate(product(_ALPHABET, repeat=k))
    }
    asked = onnxplain.FirmSequences(weights=weights, length=70, motifs=["GATTACA"])
    found = client.explain(None, None, onnxplain.Firm(sequences=asked))
    by_count = list(found.firm.message.sequences.motifs[0].mismatches)
    motif = np.array(by_count[0].differences)
    spread = np.array(by_count[-1].difference_standard_deviations)
    means = [np.mean(by_count[count].differences[_CORE]) for count in (0, 1, 2, 7)]
    print(f"GATTACA: peak at start {motif.argmax()}, Q / SD on average over starts 27 to 43:")
    print(f"  {(motif / spread)[_CORE].mean():.2f}; mean Q' {np.round(means, 3).tolist()}")
    return found


def main() -> None:
    with onnxplain.local() as client:
        found = [boolean(client), gaussian(client), gattaca(client)]
    names = ("firm-pairs-conjunction", "firm-curves", "firm-motif-GATTACA")
    for answer, name in zip(found, names, strict=True):
        if len(sys.argv) > 1:
            drawn = vl_convert.vegalite_to_png(answer.plot(name).vega_lite, vl_version="6.4")
            (Path(sys.argv[1]) / f"{name.lower()}.png").write_bytes(drawn)


if __name__ == "__main__":
    main()
