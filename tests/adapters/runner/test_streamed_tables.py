"""Any small table in blocks of any size, against the table in memory."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from onnxplain.v1 import average_loss_pb2, firm_pb2, interactions_pb2, partial_dependence_pb2
from onnxplain_server.adapters.runner.blocks.table_blocks import FileBlocks
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.trees.streaming import column_sums, engine
from onnxplain_server.trees.streaming.row_blocks import LargeTable

from tests.adapters.runner.streaming import (
    MODELS,
    Host,
    answers,
    cut_blocks,
    difference,
    names_of,
    request_of,
)

MODEL = "lightgbm_categorical_regressor"
ANY = settings(
    max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@pytest.fixture
def known():
    return json.loads((MODELS / f"{MODEL}.json").read_text())["columns"]


def drawn(known, count, rng):
    """Draw each column on its own, with missing values, and repeat some rows."""
    rows = rng.integers(0, count, count)
    table = {}
    for name, values in known.items():
        column = rng.choice(np.array(values), count)
        if column.dtype.kind == "f":
            column[rng.random(count) < 0.1] = np.nan
        table[name] = column[rows]
    return table


def asked(names, **fields):
    request = request_of(MODEL, feature_columns=names, target_column="y", **fields)
    methods = {
        "interactions": interactions_pb2.InteractionsOptions(
            pairwise_feature_count=3, threeway_feature_count=3
        ),
        "partial_dependence": partial_dependence_pb2.PartialDependenceOptions(group_column="kind"),
        "average_loss": average_loss_pb2.AverageLossOptions(group_column="kind"),
        "firm": firm_pb2.FirmOptions(bin_count=4),
    }
    for name, options in methods.items():
        getattr(request.methods.add(), name).MergeFrom(options)
    return request


def outcome(found, expected):
    """Return the first difference of any method."""
    for own, other in zip(found.explanations, expected.explanations, strict=True):
        assert own.rows == other.rows
        different = difference(own, other, 1.0)
        if different:
            return different
    return ""


@ANY
@given(
    seed=st.integers(0, 2**32 - 1),
    count=st.integers(20, 150),
    size=st.integers(1, 60),
    weigh=st.booleans(),
)
def test_answers_are_those_of_the_table_in_memory(
    runner, known, tmp_path, monkeypatch, seed, count, size, weigh
) -> None:
    cut_blocks(monkeypatch, size)
    rng = np.random.default_rng(seed)
    table = drawn(known, count, rng)
    table["y"] = rng.normal(size=count)
    table["kind"] = rng.choice(np.array(["a", "b", "", "c"]), count)
    table["weight"] = rng.integers(0, 3, count).astype(np.float64)
    table["weight"][:3] = 1
    request = asked(names_of(MODEL), weight_column="weight" if weigh else "")

    try:
        found, expected = answers(runner, request, table, tmp_path)
    except ExplainError as error:  # a column of which no row of weight has a value
        assert "has no value" in error.message  # noqa: PT017 - of either engine
        return
    assert not outcome(found, expected)


def test_all_rows_asked_for_by_their_number_are_all_rows(
    runner, known, tmp_path, monkeypatch
) -> None:
    cut_blocks(monkeypatch, 16)
    rng = np.random.default_rng(0)
    table = drawn(known, 90, rng) | {"y": rng.normal(size=90), "kind": np.repeat(["a", "b"], 45)}
    request = asked(names_of(MODEL), row_count=90)

    found, expected = answers(runner, request, table, tmp_path)

    assert not outcome(found, expected)
    assert found.receipt.engine_reason.endswith("all 90 rows were read in blocks")


def test_fewer_rows_are_those_that_memory_draws(runner, known, tmp_path, monkeypatch) -> None:
    """Both draw the rows of the smallest hashes."""
    cut_blocks(monkeypatch, 16, sampled=60)
    rng = np.random.default_rng(0)
    table = drawn(known, 90, rng) | {"y": rng.normal(size=90), "kind": np.repeat(["a", "b"], 45)}
    request = asked(names_of(MODEL), row_count=40)
    del request.methods[1:]

    found, expected = answers(runner, request, table, tmp_path)

    assert not outcome(found, expected)
    assert found.explanations[0].rows.drawn_row_count == 40
    assert "read in blocks" not in found.receipt.engine_reason


def test_groups_of_features_interact_on_the_sample(runner, known, tmp_path, monkeypatch) -> None:
    cut_blocks(monkeypatch, 16, sampled=60)
    table = drawn(known, 90, np.random.default_rng(0))
    names = names_of(MODEL)
    request = request_of(MODEL, feature_columns=names)
    request.methods.add().interactions.groups.add(names=names[:2])

    found, _ = answers(runner, request, table, tmp_path)

    (explanation,) = found.explanations
    assert explanation.rows.drawn_row_count == 60
    assert list(explanation.interactions.overall[0].features) == [" + ".join(names[:2])]
    assert any(note.code == "ROWS_DRAWN" for note in found.warnings)


def test_permutation_importance_is_of_the_rows_that_memory_draws(
    runner, known, tmp_path, monkeypatch
) -> None:
    cut_blocks(monkeypatch, 16, sampled=60)
    rng = np.random.default_rng(0)
    table = drawn(known, 90, rng) | {"y": rng.normal(size=90)}
    request = request_of(MODEL, feature_columns=names_of(MODEL), target_column="y", row_count=50)
    request.methods.add().permutation_importance.SetInParent()

    found, expected = answers(runner, request, table, tmp_path)

    assert not outcome(found, expected)
    assert found.explanations[0].rows.drawn_row_count == 50
    assert any(note.code == "ROWS_DRAWN" for note in found.warnings)


def test_many_distinct_values_are_no_different(runner, known, tmp_path, monkeypatch) -> None:
    """Quantiles are then searched for, here in columns of more than 8 distinct values."""
    cut_blocks(monkeypatch, 16)
    monkeypatch.setattr(column_sums, "MAX_LEVELS", 8)
    rng = np.random.default_rng(3)
    table = drawn(known, 120, rng) | {"y": rng.normal(size=120), "kind": np.repeat(["a", "b"], 60)}
    names = [name for name, values in known.items() if not isinstance(values[0], str)]
    request = asked(names_of(MODEL))
    del request.methods[3:]
    partial = request.methods[1].partial_dependence
    partial.ClearField("group_column")
    partial.grid_size = 5
    for name in names:
        partial.features.add(names=[name])

    found, expected = answers(runner, request, table, tmp_path)

    assert not outcome(found, expected)


@pytest.mark.parametrize("method", range(4), ids=["interactions", "curves", "loss", "firm"])
def test_no_more_rows_are_read_than_were_planned(
    runner, known, tmp_path, monkeypatch, method
) -> None:
    """Also where groups of rows are counted in several passes."""
    cut_blocks(monkeypatch, 16)
    monkeypatch.setattr(engine, "counts_at_once", lambda *_: 1)
    rng = np.random.default_rng(0)
    table = drawn(known, 90, rng) | {"y": rng.normal(size=90), "kind": np.repeat(["a", "b"], 45)}
    request, host = asked(names_of(MODEL)), Host()
    kept = request.methods[method]
    del request.methods[:method], request.methods[1:]
    assert request.methods[0] == kept
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(table), path)

    large = LargeTable(FileBlocks([path]), 1 << 30)
    runner.answer(Call(ServiceMethod.EXPLAIN, request.SerializeToString()), host, large)

    assert host.reserved >= host.done > 0
