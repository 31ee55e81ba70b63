"""A table that is read in blocks, from its files to the answer: that of the table in memory."""

from __future__ import annotations

import json

import numpy as np
import onnx
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from onnxplain.v1 import attributions_pb2, interactions_pb2
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain_server.adapters.runner.blocks.table_blocks import FileBlocks
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.trees.streaming.row_blocks import BLOCK_ROWS, LargeTable

from tests.adapters.runner.streaming import MODELS, Host

N = 2 * BLOCK_ROWS + 10_000


@pytest.fixture(scope="module")
def rows():
    """Known rows of the model, drawn with small shifts; weights, also of 0, and a target."""
    known = json.loads((MODELS / "sklearn_gradient_boosting.json").read_text())["columns"]
    rng = np.random.default_rng(0)
    columns = {
        name: (rng.choice(values, N) + 0.01 * rng.normal(size=N)).astype(np.float32)
        for name, values in known.items()
    }
    weight = rng.integers(0, 3, N).astype(np.float64)
    return pa.table({**columns, "weight": weight, "y": rng.normal(size=N)})


@pytest.fixture
def request_of():
    """Make a request without table: methods by name and options."""

    def make(**methods):
        request = service_pb2.ExplainRequest(weight_column="weight", target_column="y", plots=False)
        request.model.content = (MODELS / "sklearn_gradient_boosting.onnx").read_bytes()
        for name, options in methods.items():
            getattr(request.methods.add(), name).MergeFrom(options)
        return request

    return make


def streamed(runner, request, paths):
    table = LargeTable(FileBlocks(paths), 1 << 30)
    reply = runner.answer(Call(ServiceMethod.EXPLAIN, request.SerializeToString()), Host(), table)
    return service_pb2.ExplainResponse.FromString(reply.content)


def in_memory(runner, request, path):
    whole = service_pb2.ExplainRequest()
    whole.CopyFrom(request)
    whole.table.parquet = path.read_bytes()
    reply = runner.answer(Call(ServiceMethod.EXPLAIN, whole.SerializeToString()), Host())
    return service_pb2.ExplainResponse.FromString(reply.content)


def split(folder, rows, ends, row_group):
    """Write rows as files that end at some rows."""
    paths, start = [], 0
    for end in ends:
        paths.append(folder / f"{len(ends)}-{row_group}-{end}.parquet")
        pq.write_table(rows.slice(start, end - start), paths[-1], row_group_size=row_group)
        start = end
    return paths


INTERACTIONS = interactions_pb2.InteractionsOptions(pairwise_feature_count=4)


def test_the_answer_is_that_of_the_table_in_memory(runner, rows, request_of, tmp_path) -> None:
    (path,) = split(tmp_path, rows, [N], N)
    request = request_of(interactions=INTERACTIONS)

    found, expected = streamed(runner, request, [path]), in_memory(runner, request, path)

    own, other = found.explanations[0].interactions, expected.explanations[0].interactions
    scale = other.mean_squares[0]
    for order in ("overall", "pairwise", "importance"):
        pairs = zip(getattr(own, order), getattr(other, order), strict=True)
        for each, reference in pairs:
            for part in ("numerators", "denominators"):
                close = pytest.approx(getattr(reference, part)[0], rel=1e-12, abs=1e-12 * scale)
                assert getattr(each, part)[0] == close
    assert found.explanations[0].rows == expected.explanations[0].rows
    assert found.receipt.table_digest == expected.receipt.table_digest
    reason = f"; all {N:,} rows were read in blocks"
    assert found.receipt.engine_reason == expected.receipt.engine_reason + reason
    assert found.warnings[0].code == "TABLE_STREAMED"


def test_attributions_are_against_all_rows(runner, rows, request_of, tmp_path) -> None:
    (path,) = split(tmp_path, rows, [N], N)
    asked = attributions_pb2.AttributionsOptions(order=2)
    for name in rows.column_names[:-2]:
        asked.explained_rows.columns.add(name=name, numbers=rows[name][:3].to_pylist())
    request = request_of(attributions=asked)

    found, expected = streamed(runner, request, [path]), in_memory(runner, request, path)

    own, other = found.explanations[0], expected.explanations[0]
    assert own.rows == other.rows
    for field in ("base_values", "predictions", "values", "interactions"):
        close = pytest.approx(getattr(other.attributions, field), rel=1e-9, abs=1e-9)
        assert getattr(own.attributions, field) == close
    assert own.attributions.additivity_errors[0] < 1e-9 * abs(other.attributions.base_values[0])
    assert f"; all {N:,} rows were read in blocks" in found.receipt.engine_reason


def test_bits_do_not_depend_on_row_groups_and_files(runner, rows, request_of, tmp_path) -> None:
    request = request_of(interactions=INTERACTIONS)
    layouts = [([N], 1_000), ([N], 100_003), ([N], N), ([5, 90_000, N], 65_536)]

    answers = [
        streamed(runner, request, split(tmp_path, rows, ends, row_group))
        for ends, row_group in layouts
    ]

    bits = {each.explanations[0].interactions.SerializeToString() for each in answers}
    assert len(bits) == 1


def test_other_methods_tell_the_sample_that_they_use(runner, rows, request_of, tmp_path) -> None:
    request = request_of()
    request.methods.add().average_loss.loss_expression = "abs(y - p)"
    request.methods.add().interactions.repeat_count = 10
    used = int(np.count_nonzero(rows["weight"].to_numpy()))

    answer = streamed(runner, request, split(tmp_path, rows, [N], N))

    counts = [explanation.rows.drawn_row_count for explanation in answer.explanations]
    assert all(0 < count < BLOCK_ROWS for count in counts)
    (drawn,) = [warning for warning in answer.warnings if warning.code == "ROWS_DRAWN"]
    assert f"of {used:,} rows were drawn" in drawn.message
    assert "read in blocks" not in answer.receipt.engine_reason


def test_columns_of_an_array_have_the_models_names(runner, rows, request_of, tmp_path) -> None:
    """In methods on all rows and on the sample."""
    names = [name for name in rows.column_names if name not in {"weight", "y"}]
    numbers = [f"f{j}" for j in range(len(names))]
    request = request_of(interactions=INTERACTIONS)
    request.methods.add().partial_dependence.features.add(names=names[:1])
    request.methods.add().permutation_importance.features.add(names=names[:1])
    model = onnx.load_from_string(request.model.content)
    model.metadata_props.add(key="feature_names", value=json.dumps(names))
    request.model.content = model.SerializeToString()
    whole, array = rows, rows.rename_columns([*numbers, "weight", "y"])

    expected = streamed(runner, request, split(tmp_path, whole, [N], N))
    found = streamed(runner, request, split(tmp_path, array, [N], N))

    assert list(found.explanations) == list(expected.explanations)
    (told,) = [each.message for each in found.warnings if each.code == "COLUMNS_BY_POSITION"]
    assert f"1 {names[0]!r}, 2 {names[1]!r}" in told


def test_rows_by_number_are_refused(runner, rows, request_of, tmp_path) -> None:
    """Their numbers are those of the table, which the sample does not have."""
    request = request_of()
    request.methods.add().swarm.row_indices.append(3)

    with pytest.raises(ExplainError, match="row_indices cannot be asked of a table that is read"):
        streamed(runner, request, split(tmp_path, rows, [N], N))


def test_a_column_that_is_empty_in_one_block_only_is_no_fault(
    runner, rows, request_of, tmp_path
) -> None:
    """One that is empty in all blocks is refused, as in memory."""
    name = rows.column_names[0]
    values = rows[name].to_numpy().copy()
    values[:BLOCK_ROWS] = np.nan
    partly = rows.set_column(0, name, pa.array(values))
    empty = rows.set_column(0, name, pa.array(np.full(N, np.nan, np.float32)))
    request = request_of(interactions=INTERACTIONS)

    answer = streamed(runner, request, split(tmp_path, partly, [N], N))

    assert answer.explanations[0].interactions.mean_squares[0] > 0
    with pytest.raises(ExplainError, match=f"column '{name}' has no value in any of its"):
        streamed(runner, request, split(tmp_path, empty, [N], N))


def test_too_little_memory_is_refused_with_what_is_needed(
    runner, rows, request_of, tmp_path
) -> None:
    request = request_of(interactions=INTERACTIONS)
    table = LargeTable(FileBlocks(split(tmp_path, rows, [N], N)), 1_000)

    with pytest.raises(ExplainError, match="memory_bytes is 1,000; streaming"):
        runner.answer(Call(ServiceMethod.EXPLAIN, request.SerializeToString()), Host(), table)
