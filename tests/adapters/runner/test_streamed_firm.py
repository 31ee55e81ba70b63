"""FIRM on a table in blocks: that of the table in memory, on all rows."""

from __future__ import annotations

import numpy as np
import pytest
from onnxplain.v1 import firm_pb2 as pb2
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.trees.streaming import column_sums

from tests.adapters.runner.streaming import (
    against_memory,
    answers,
    cut_blocks,
    keep_levels,
    known_rows,
    names_of,
    request_of,
)

N = 1_000
NUMBERS, CLASSES = "sklearn_gradient_boosting", "sklearn_random_forest_3class"
ESTIMATOR = pb2.FirmOptions.Estimator


@pytest.fixture(params=[1 << 14, 45], ids=["levels", "cells"])
def blocks(request, monkeypatch) -> None:
    keep_levels(monkeypatch, request.param)
    cut_blocks(monkeypatch, 128)


def table_of(model, rng=None):
    rng = rng or np.random.default_rng(0)
    return {
        **{name: rng.permutation(column) for name, column in known_rows(model, N, rng).items()},
        "weight": rng.integers(0, 3, N).astype(np.float64),
        "kind": rng.choice(np.array([*"abcdefgh", ""]), N),
        "z": rng.normal(size=N),
        "holed": np.where(rng.random(N) < 0.1, np.nan, rng.integers(0, 30, N)),
    }


def asked(model, options, **fields):
    request = request_of(model, feature_columns=names_of(model), **fields)
    request.methods.add().firm.MergeFrom(options)
    return request


def compared(runner, table, tmp_path, request):
    """Return the first difference from memory, and the streamed answer."""
    different, *both = against_memory(
        runner, request, table, tmp_path, lambda own: max(map(abs, own.firm.mean_scores))
    )
    codes = [[w.code for w in a.warnings if w.code != "TABLE_STREAMED"] for a in both]
    assert codes[0] == codes[1]
    return different, both[0]


FEATURES = ["bmi", "z", "bmi > 0", "bmi * s5", "log(1 + z ** 2)", "sex"]


@pytest.mark.parametrize("options", [
    {}, {"features": FEATURES}, {"features": FEATURES, "standardize": True, "keep_bias": True},
    {"features": ["bmi > 0", "z > 1"], "estimator": ESTIMATOR.TWO_VALUED},
    {"features": ["holed", "kind"], "bin_count": 5}, {"bin_count": 40, "features": ["z"]},
])  # fmt: skip
def test_importances_and_curves_are_those_of_the_table_in_memory(
    runner, tmp_path, blocks, options
) -> None:
    """All values of `z` differ, and N is a multiple of the bins: see `cut_streamed`."""
    table = table_of(NUMBERS)
    table["bmi"] = table["z"] / 50 + 0.01 * np.random.default_rng(1).normal(size=N)
    table["bmi"] = table["bmi"].astype(np.float32)
    table["s5"] = np.random.default_rng(2).normal(size=N).astype(np.float32) / 50
    request = asked(NUMBERS, pb2.FirmOptions(**options))

    different, _ = compared(runner, table, tmp_path, request)

    assert not different


def test_values_that_most_rows_have_get_bins_of_their_own_as_in_memory(
    runner, tmp_path, blocks
) -> None:
    """Of 10 bins, 0 has one, 4 are for the 100 rows below, 5 for those above: 2 and four."""
    table = table_of(NUMBERS)
    others = np.random.default_rng(3).uniform(1, 2, 100)
    z = np.concatenate([np.zeros(740), np.full(60, 2), others, -others])
    table["z"] = np.random.default_rng(4).permutation(z)
    table["bmi"] = (table["z"] / 50).astype(np.float32)
    request = asked(NUMBERS, pb2.FirmOptions(features=["z", "bmi * 2"], bin_count=10))

    different, found = compared(runner, table, tmp_path, request)

    assert not different
    shares = found.explanations[0].firm.importances[0].curve.shares
    assert shares == pytest.approx([*[0.025] * 4, 0.74, *[0.025] * 4, 0.06])


def test_weights_count_where_all_values_are_known(runner, tmp_path, monkeypatch) -> None:
    cut_blocks(monkeypatch, 128)
    options = pb2.FirmOptions(features=[*FEATURES, "holed", "kind"], bin_count=7)
    request = asked(NUMBERS, options, weight_column="weight")

    assert not compared(runner, table_of(NUMBERS), tmp_path, request)[0]


def test_several_outputs_are_those_of_the_table_in_memory(runner, tmp_path, monkeypatch) -> None:
    cut_blocks(monkeypatch, 128)

    assert not compared(runner, table_of(CLASSES), tmp_path, asked(CLASSES, pb2.FirmOptions()))[0]


def test_bins_of_many_values_begin_at_shares_of_the_rows(runner, tmp_path, monkeypatch) -> None:
    """Where N is no multiple of the bins, a bin has one row more or less than in memory."""
    cut_blocks(monkeypatch, 128)
    monkeypatch.setattr(column_sums, "MAX_LEVELS", 45)
    table = table_of(NUMBERS)
    request = asked(NUMBERS, pb2.FirmOptions(features=["z"], bin_count=7))

    found, expected = answers(runner, request, table, tmp_path)

    own, other = (a.explanations[0].firm.importances[0] for a in (found, expected))
    shares = np.array(own.curve.shares)
    assert shares == pytest.approx(np.full(7, 1 / 7), abs=1 / N)
    assert own.values[0] == pytest.approx(other.values[0], rel=0.1)


def test_importances_are_deviations_of_the_means_of_bins(runner, tmp_path, monkeypatch) -> None:
    """By definition, with the bias kept: √(Σ share (mean of bin - mean)²)."""
    cut_blocks(monkeypatch, 128)
    request = asked(NUMBERS, pb2.FirmOptions(features=["kind"], keep_bias=True))

    found, _ = answers(runner, request, table_of(NUMBERS), tmp_path)

    (importance,) = found.explanations[0].firm.importances
    shares, means = np.array(importance.curve.shares), np.array(importance.curve.expected_scores)
    expected = np.sqrt(shares @ (means - shares @ means) ** 2)
    assert importance.values[0] == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("options", [
    {"estimator": ESTIMATOR.SLOPE}, {"repeat_count": 20}, {"features": ["kind"]},
])  # fmt: skip
def test_what_bins_do_not_tell_is_of_the_sample(runner, tmp_path, monkeypatch, options) -> None:
    cut_blocks(monkeypatch, 128)
    monkeypatch.setattr(column_sums, "MAX_LEVELS", 5)
    request = asked(NUMBERS, pb2.FirmOptions(**options))

    found, _ = answers(runner, request, table_of(NUMBERS), tmp_path)

    assert found.explanations[0].rows.drawn_row_count == 150
    assert "read in blocks" not in found.receipt.engine_reason


def test_two_values_are_demanded_of_all_rows(runner, tmp_path, monkeypatch) -> None:
    """A third value in a late row is found."""
    cut_blocks(monkeypatch, 128)
    table = table_of(NUMBERS)
    table["pair"] = np.repeat([1.0, 2.0], N // 2)
    table["pair"][-1] = 3.0
    options = pb2.FirmOptions(features=["pair"], estimator=ESTIMATOR.TWO_VALUED)

    with pytest.raises(ExplainError, match="TWO_VALUED needs a feature of two values"):
        answers(runner, asked(NUMBERS, options), table, tmp_path)


def test_a_model_that_is_constant_has_no_importances(runner, tmp_path, monkeypatch) -> None:
    cut_blocks(monkeypatch, 128)
    table = table_of(NUMBERS)
    for name in names_of(NUMBERS):
        table[name] = np.full(N, table[name][0], np.float32)
    request = asked(NUMBERS, pb2.FirmOptions(features=["z", "kind"]))

    different, found = compared(runner, table, tmp_path, request)

    assert not different
    assert [each.values[0] for each in found.explanations[0].firm.importances] == [0.0, 0.0]
