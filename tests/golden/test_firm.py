"""FIRM agrees with results worked out by another program.

`firm/README.md` says how they were made and within which tolerances they hold.
"""

import gzip
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnxplain_server.core.arrays import Array
from onnxplain_server.language import ColumnValues, parse
from onnxplain_server.methods.firm import (
    Covariance,
    Estimator,
    Moments,
    Options,
    Result,
    ScoredRows,
    compute,
    gaussian,
)
from onnxplain_server.methods.firm.covariance import shrunk
from onnxplain_server.methods.resampling import RowUnits
from onnxplain_server.methods.sequences import Weights, tables
from onnxplain_server.methods.sequences.background import MarkovChain, uniform
from onnxplain_server.methods.sequences.kmers import code_of
from onnxplain_server.methods.sequences.poim import Poim

Json = dict[str, Any]
Explain = Callable[[Path, Json], Json]

ROOT = Path(__file__).parent / "firm"
LASSO = ROOT / "lasso_vs_ridge"
GATTACA = ROOT / "gattaca"


def load(name: str) -> Json:
    path = ROOT / name
    text = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
    loaded: Json = json.loads(text)
    return loaded


def named(rows: Sequence[Sequence[float]]) -> dict[str, Array]:
    return {f"x{j}": column for j, column in enumerate(np.array(rows, dtype=float).T, 1)}


def firm(
    columns: Mapping[str, Array],
    scores: Sequence[float],
    features: Sequence[str],
    moments: Moments | None = None,
    **options,
) -> Result:
    """Measure features of columns and scores, without a model."""
    held = ColumnValues(columns)
    expressions = [parse(text, held.kinds, "features") for text in features]
    score = np.array(scores, dtype=float)[:, None]
    sheet = ScoredRows(held, np.ones(len(score)), score, ("s",), RowUnits(np.arange(len(score))))
    return compute(
        expressions, sheet, Options(**options), moments, 0, lambda f, parts: list(map(f, parts))
    )


def values(result: Result) -> list[float]:
    return [float(importance.values[0]) for importance in result.importances]


EXPRESSIONS = {
    "I(x4>0.5)": "x4 > 0.5",
    "I(x1>0 and x3=2)": "x1 > 0 and x3 == 2",
    "I(x1>0 xor x4>0)": "xor(x1 > 0, x4 > 0)",
}
EMPIRICAL = load("empirical_estimators.json")


@pytest.mark.parametrize("case", EMPIRICAL["features"], ids=lambda case: case["name"])
@pytest.mark.parametrize("bin_count", [10, 20])
def test_estimators_on_rows(case: Json, bin_count: int) -> None:
    name = case["name"].split(" (")[0]
    text = EXPRESSIONS.get(case["name"], name)
    binned = case[f"binned_{bin_count}"]

    def one(**options) -> Result:
        return firm(named(EMPIRICAL["X"]), EMPIRICAL["s"], [text], **options)

    plain = one(bin_count=bin_count, keep_bias=True).importances[0]
    unbiased = one(bin_count=bin_count).importances[0]

    assert abs(plain.values[0]) == pytest.approx(binned["Q"], abs=1e-9)
    assert len(plain.curve.levels) == binned["bins"]
    assert plain.curve.expected[:, 0] == pytest.approx(binned["bin_means"], abs=1e-9)
    assert plain.curve.shares * 240 == pytest.approx(binned["counts"])
    if unbiased.estimator is Estimator.BINNED:
        assert unbiased.values[0] == pytest.approx(binned["Q_debiased"], abs=1e-9)
    else:
        # Two values are exact: there is no bias to be taken.
        assert abs(unbiased.values[0]) == pytest.approx(binned["Q"], abs=1e-9)
    slope = values(one(estimator=Estimator.SLOPE))
    assert slope == pytest.approx([case["Q_slope_signed"]], abs=1e-9)
    relative = values(one(estimator=Estimator.SLOPE, standardize=True))
    assert relative == pytest.approx([case["Q_slope_standardised"]], abs=1e-9)


GAUSSIAN = load("gaussian_linear.json")
SIGMA, WEIGHTS = np.array(GAUSSIAN["covariance"]), np.array(GAUSSIAN["w"])[:, None]


def of_columns(covariance: Array, gradient: Array) -> Array:
    """Importances of single columns: of sums with one term."""
    units = np.eye(len(covariance))
    return np.concatenate([gaussian.of_sum(unit, covariance, gradient) for unit in units])


def test_gaussian_columns() -> None:
    found = of_columns(SIGMA, WEIGHTS)

    assert found == pytest.approx(GAUSSIAN["Q_signed"], abs=1e-11)
    deviation = np.sqrt(GAUSSIAN["var_s"])
    assert found / deviation == pytest.approx(GAUSSIAN["Q_standardised"], abs=1e-11)


def test_gaussian_sums_of_columns() -> None:
    for case in GAUSSIAN["linear_features"]:
        found = gaussian.of_sum(np.array(case["a"]), SIGMA, WEIGHTS)
        assert found == pytest.approx([case["Q"]], rel=1e-9)


def test_gaussian_thresholds() -> None:
    for case in GAUSSIAN["threshold_features"]:
        unit = np.eye(5)[case["j"]]
        found = gaussian.of_threshold(unit, -case["tau"], np.zeros(5), SIGMA, WEIGHTS)
        assert found == pytest.approx([case["Q"]], rel=1e-9)


def test_taylor_is_blind_to_the_curvature_of_a_quadratic_score() -> None:
    quadratic = GAUSSIAN["quadratic"]
    gradient = np.array(quadratic["gradient_at_mean"])[:, None]

    found = np.abs(of_columns(SIGMA, gradient))

    assert found == pytest.approx(quadratic["Q_taylor_eq9_abs"], abs=1e-11)
    assert found[0] < quadratic["Q_exact"][0] / 8


def test_bins_of_drawn_rows_see_the_curvature() -> None:
    """The score's deviation is about 5, so 100,000 rows tell it within 0.016 (standard error)."""
    quadratic = GAUSSIAN["quadratic"]
    rows = np.random.default_rng(0).multivariate_normal(np.zeros(5), SIGMA, 100_000)
    scores = rows @ GAUSSIAN["w"] + ((rows @ quadratic["B"]) * rows).sum(axis=1)

    result = firm(named(rows.tolist()), scores.tolist(), [f"x{j}" for j in range(1, 6)],
                  bin_count=200)  # fmt: skip

    assert values(result) == pytest.approx(quadratic["Q_exact"], abs=0.06)


BOOLEAN = load("boolean_formula.json")


@pytest.mark.parametrize("group", ["singletons", "conjunctions", "disjunctions", "xor"])
def test_boolean_formula(group: str) -> None:
    cases = BOOLEAN[group]
    texts = [text.replace(" xor ", " ^ ") for text in cases]

    result = firm(named(BOOLEAN["rows"]), BOOLEAN["score"], texts)

    assert values(result) == pytest.approx([case["Q"] for case in cases.values()], abs=1e-12)
    for importance, case in zip(result.importances, cases.values(), strict=True):
        assert importance.estimator is Estimator.TWO_VALUED
        assert importance.curve.expected[:, 0] == pytest.approx([case["q0"], case["q1"]])
        assert importance.curve.shares[1] == pytest.approx(case["p"])


def test_support_vector_machine_of_degree_2() -> None:
    """Figure 1: x1 or (not x1 and not x2), worked by hand from the machine's closed form.

    The score has margin 1 at three of the four values of x1 and x2, and 5/3 at (1, 0).
    """
    rows = np.array(BOOLEAN["rows"], dtype=float)
    x1, x2, _ = rows.T
    scores = 1 + 2 / 3 * x1 - 2 * x2 + 4 / 3 * x1 * x2
    features = ["not x1 and x2", "x1", "not x2", "x1 and not x2", "x1 and x2", "x3"]

    found = values(firm(named(BOOLEAN["rows"]), scores.tolist(), features))

    assert sorted({round(score, 12) for score in scores}) == pytest.approx([-1, 1, 5 / 3])
    # A difference of means each, times the root of 3/16 for pairs and of 1/4 for single columns.
    root = np.sqrt(3) / 4
    pairs = [-20 / 9 * root, 4 / 3 * root, 4 / 9 * root]
    assert found == pytest.approx([pairs[0], 2 / 3, 2 / 3, *pairs[1:], 0], abs=1e-12)


def test_binary_rows_follow_equation_10_and_not_the_printed_equation_11() -> None:
    case = load("binary_empirical_eq11.json")
    scores = np.array(case["rows"]) @ case["w"] + case["b"]

    found = values(firm(named(case["rows"]), scores.tolist(), ["x1", "x2", "x3", "x4"]))

    assert found == pytest.approx(case["Q_signed"], abs=1e-11)
    assert found[1] != pytest.approx(case["Q_from_printed_eq11"][1], rel=0.1)


def test_shrunk_covariance() -> None:
    case = load("shrinkage_covariance.json")
    rows = np.array(case["X"])

    covariance, intensity = shrunk(rows, np.ones(len(rows)))

    assert intensity == pytest.approx(case["lambda_"], rel=1e-9)
    assert covariance == pytest.approx(np.array(case["covariance"]), abs=1e-9)
    found = of_columns(covariance, np.array(case["w"])[:, None])
    assert found == pytest.approx(case["Q_signed"], abs=1e-9)
    names = tuple(f"x{j}" for j in range(1, 7))
    moments = Moments(names, rows, np.array(case["w"])[:, None], Covariance.SHRUNK)
    whole = firm(
        named(case["X"]), (rows @ case["w"]).tolist(), names, moments, estimator=Estimator.GAUSSIAN
    )
    assert values(whole) == pytest.approx(case["Q_signed"], abs=1e-9)


INVARIANCE = load("invariances.json")


@pytest.mark.parametrize("change", INVARIANCE["feature_transforms"], ids=lambda c: str(c["a"]))
def test_a_feature_may_be_shifted_and_rescaled(change: Json) -> None:
    columns = named(INVARIANCE["X"])
    moved = {**columns, "x1": change["a"] * columns["x1"] + change["b"]}

    slope = values(firm(moved, INVARIANCE["s"], ["x1"], estimator=Estimator.SLOPE))
    binned = values(firm(moved, INVARIANCE["s"], ["x1"], bin_count=10, keep_bias=True))

    assert slope == pytest.approx([change["x1"]["Q_slope_signed"]], rel=1e-9)
    assert binned == pytest.approx([change["x1"]["Q_binned_10"]], rel=1e-9)


@pytest.mark.parametrize("change", INVARIANCE["score_transforms"], ids=lambda c: str(c["c"]))
def test_importance_scales_with_the_score(change: Json) -> None:
    scores = (change["c"] * np.array(INVARIANCE["s"]) + change["k"]).tolist()
    columns = named(INVARIANCE["X"])

    slope = values(firm(columns, scores, ["x1"], estimator=Estimator.SLOPE))
    binned = values(firm(columns, scores, ["x1"], bin_count=10, keep_bias=True))

    assert slope == pytest.approx([change["x1"]["Q_slope_signed"]], rel=1e-9)
    assert binned == pytest.approx([change["x1"]["Q_binned_10"]], rel=1e-9)


@pytest.mark.parametrize("case", load("lasso_vs_ridge/expected.json")["models"],
                         ids=lambda case: case["name"])  # fmt: skip
@pytest.mark.parametrize("estimator", ["GAUSSIAN", "SLOPE"])
def test_lasso_and_ridge_get_about_the_same_importances(
    explain: Explain, tmp_path: Path, case: Json, estimator: str
) -> None:
    (tmp_path / "model.onnx").write_bytes((LASSO / case["model_file"]).read_bytes())
    (tmp_path / "data.csv").write_bytes((LASSO / "data.csv").read_bytes())
    asked: Json = {"estimator": estimator, "contrasts": ["WEIGHT"]}
    request = {"featureColumns": ["x1", "x2"], "methods": [{"firm": asked}]}

    result = explain(tmp_path, request)["explanations"][0]["firm"]
    asked["standardize"] = True
    relative = explain(tmp_path, request)["explanations"][0]["firm"]

    def found(of: Json, group: str) -> list[float]:
        return [one["values"][0] for one in of[group]]

    assert found(result, "importances") == pytest.approx(case["Q_signed"], rel=1e-6)
    assert found(relative, "importances") == pytest.approx(case["Q_standardised"], rel=1e-6)
    assert found(result, "contrasts") == pytest.approx(case["w"], rel=1e-6, abs=1e-6)


SEQUENCES = load("sequence_poim_order0.json")
CHAIN = SEQUENCES["background"]


@pytest.mark.parametrize(
    "background",
    [uniform(4), MarkovChain(np.array(CHAIN["initial"]), np.array(CHAIN["transition"]))],
    ids=["order 0", "order 1 with equal rows"],
)
def test_all_strings_of_short_sequences(background: MarkovChain) -> None:
    kmers, positions, numbers = zip(*SEQUENCES["weights"], strict=True)
    length, alphabet = SEQUENCES["length"], SEQUENCES["alphabet"]
    listed = tables(kmers, positions, numbers, length, alphabet)
    poim = Poim(Weights(listed, length), background)

    assert poim.mean == pytest.approx(SEQUENCES["mean_s"], rel=1e-9)
    assert poim.deviation**2 == pytest.approx(SEQUENCES["var_s"], rel=1e-9)
    for kmer, position, probability, difference, importance in SEQUENCES["importances"]:
        column, code = poim.column(len(kmer), position), code_of(kmer, alphabet)
        assert column.probabilities[code] == pytest.approx(probability, rel=1e-9)
        assert column.differences[code] == pytest.approx(difference, abs=1e-11)
        assert column.importances[code] == pytest.approx(importance, abs=3e-12)


@pytest.fixture(scope="module")
def machine() -> Json:
    return load("gattaca/model.json.gz")


def test_gattaca_matrices(machine: Json) -> None:
    expected = load("gattaca/expected.json")["exact"]
    layers = tuple(np.array(machine["weights"][str(k)]) for k in (1, 2, 3))
    poim = Poim(Weights(layers, machine["length"], machine["bias"]), uniform(4))

    for kmer, differences in expected["Qprime"].items():
        columns = poim.columns(len(kmer))
        found = [column.differences[code_of(kmer, "ACGT")] for column in columns]
        assert found == pytest.approx(differences, abs=1e-9)


def test_gattaca_is_found_though_no_weight_knows_it(
    explain: Explain, tmp_path: Path, machine: Json
) -> None:
    """Asked as a user does, with the weights in the request, and neither model nor table."""
    expected = load("gattaca/expected.json")
    request = {"methods": [{"firm": {"sequences": as_request(machine)}}]}

    found = explain(tmp_path, request)["explanations"][0]["firm"]["sequences"]["motifs"][0]

    by_count = {m.get("mismatchCount", 0): m for m in found["mismatches"]}
    motif, irrelevant = np.array(by_count[0]["differences"]), by_count[7]
    spread = np.array(irrelevant["differenceStandardDeviations"])
    assert irrelevant["kmerCount"] == 2187
    # These were worked out from weights with more digits than the file has.
    assert spread == pytest.approx(expected["exact"]["irrelevant_sd_per_position"], rel=2e-5)
    assert 27 <= int(motif.argmax()) <= 43
    core = slice(27, 44)
    assert (motif / spread)[core].mean() >= 3
    means = [np.mean(by_count[count]["differences"][core]) for count in (0, 1, 2, 7)]
    assert means == sorted(means, reverse=True)
    told = expected["statistics"]["mean_Qprime_core"]
    assert means == pytest.approx(
        [told[name] for name in ("motif", "distance1", "distance2", "irrelevant")], abs=1e-6
    )
    assert np.abs(motif / spread)[:12].max() < 3


def as_request(machine: Json) -> Json:
    """Write the machine's weights one by one."""
    listed = [
        (f"{'ACGT'[code // 16 % 4]}{'ACGT'[code // 4 % 4]}{'ACGT'[code % 4]}"[3 - k :], i, weight)
        for k in (1, 2, 3)
        for i, row in enumerate(machine["weights"][str(k)])
        for code, weight in enumerate(row)
    ]
    kmers, positions, numbers = zip(*listed, strict=True)
    weights = {"kmers": kmers, "positions": positions, "values": numbers}
    return {"length": machine["length"], "weights": weights, "motifs": ["GATTACA"]}
