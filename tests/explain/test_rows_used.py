"""The rows of each explanation: drawn by its own method, counted and weighed, told as they are."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1.table_pb2 import Column
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.core.row_draws import Purpose, row_hashes
from onnxplain_server.explain.sample import RowsUsed
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl

pytestmark = pytest.mark.usefixtures("few_trees")

MODELS = Path(__file__).parents[1] / "models"
ROWS = 12_000
METHODS: dict[str, dict[str, Any]] = {
    "interactions": {"pairwise_feature_count": 0, "knot_count": 3},
    "partial_dependence": {"grid_size": 2},
    "individual_conditional_expectation": {"grid_size": 2, "curve_count": 7},
    "permutation_importance": {"repeat_count": 1},
    "average_loss": {},
    "feature_vectors": {"source": "SURROGATE", "sentence_count": 500, "depth": 3},
    "firm": {"features": ["x0"], "repeat_count": 0},
    "accumulated_local_effects": {"bin_count": 2},
}
DRAWN = {
    "interactions": 500,
    "partial_dependence": 500,
    "individual_conditional_expectation": 7,
    "permutation_importance": 10_000,
    "average_loss": ROWS,
    "feature_vectors": 10_000,
    "firm": ROWS,
    "accumulated_local_effects": 10_000,
}
BY_TREES = {**DRAWN, "interactions": ROWS, "partial_dependence": ROWS}


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    runner = InProcess(threads=2)
    yield runner
    runner.close()


@pytest.fixture(scope="module")
def columns() -> dict[str, Any]:
    """Rows of the regressor, its answer, and weights: every third is 0."""
    names = list(json.loads((MODELS / "lightgbm_regressor.json").read_text())["columns"])
    random = np.random.default_rng(5)
    table = {name: random.normal(size=ROWS) for name in names}
    table["y"] = table[names[0]] + random.normal(size=ROWS)
    table["w"] = np.arange(ROWS) % 3 / 2.0
    return table


def ask(runner: InProcess, columns: dict[str, Any], methods: dict[str, Any], **request):
    names = [name for name in columns if name not in {"y", "w"}]
    asked = service_pb2.ExplainRequest(
        plots=False, feature_columns=names, target_column="y", **request
    )
    asked.model.content = (MODELS / "lightgbm_regressor.onnx").read_bytes()
    for name, numbers in columns.items():
        asked.table.columns.columns.append(Column(name=name, numbers=numbers))
    for name, given in methods.items():
        options = {**given, "features": names[:1]} if name == "firm" else given
        asked.methods.append(service_pb2.MethodOptions(**{name: options}))
    call = RequestContext(
        RequestControl(600), MemoryCache(2**20, Signer(b"a secret of the tests")), ""
    )
    reply = runner.answer(Call(ServiceMethod.EXPLAIN, asked.SerializeToString()), call).content
    return service_pb2.ExplainResponse.FromString(reply)


def rows_of(answer) -> dict[str, RowsUsed]:
    return {
        str(one.WhichOneof("result")): RowsUsed(
            one.rows.drawn_row_count, one.rows.used_row_count, one.rows.weight, one.rows.seed
        )
        for one in answer.explanations
    }


@pytest.mark.parametrize(("engine", "drawn"), [("BLACK_BOX", DRAWN), ("TREES", BY_TREES)])
def test_each_explanation_tells_the_rows_of_its_own_method(
    runner: InProcess, columns: dict[str, Any], engine, drawn: dict[str, int]
) -> None:
    answer = ask(runner, columns, METHODS, engine=engine, seed=4)

    assert rows_of(answer) == {name: RowsUsed(n, n, n, 4) for name, n in drawn.items()}
    assert answer.receipt.row_count == ROWS


@pytest.mark.parametrize("engine", ["BLACK_BOX", "TREES"])
@pytest.mark.parametrize(
    "method", ["interactions", "partial_dependence", "feature_vectors", "firm"]
)
def test_rows_of_weight_zero_are_not_drawn(
    runner: InProcess, columns: dict[str, Any], engine, method: str
) -> None:
    asked = {method: METHODS[method]}
    answer = ask(runner, columns, asked, engine=engine, weight_column="w", row_count=300, seed=2)

    hashes = row_hashes(np.arange(len(columns["w"])), 2, Purpose.DRAW)
    drawn = [row for row in np.argsort(hashes) if columns["w"][row] > 0][:300]
    rows = rows_of(answer)[method]
    assert (rows.drawn, rows.used, rows.seed) == (300, 300, 2)
    assert rows.weight == pytest.approx(columns["w"][drawn].sum())


def test_the_warning_tells_how_many_rows_each_method_drew_that_drew_fewer_than_all(
    runner: InProcess, columns: dict[str, Any]
) -> None:
    wanted = ("interactions", "partial_dependence", "permutation_importance", "average_loss")
    answer = ask(runner, columns, {m: METHODS[m] for m in wanted}, engine="BLACK_BOX")

    (told,) = (w.message for w in answer.warnings if w.code == "ROWS_DRAWN")
    assert told.startswith(
        "500 of 12,000 rows were drawn for interactions and partial_dependence, 10,000 for "
        "permutation_importance (seed 0)"
    )


@pytest.mark.parametrize("method", ["average_loss", "firm"])
def test_no_warning_of_drawn_rows_where_a_method_used_all(
    runner: InProcess, columns: dict[str, Any], method: str
) -> None:
    answer = ask(runner, columns, {method: METHODS[method]}, engine="BLACK_BOX")

    assert "ROWS_DRAWN" not in [warning.code for warning in answer.warnings]


def test_rows_drawn_within_groups_are_those_of_all_groups(
    runner: InProcess, columns: dict[str, Any]
) -> None:
    grouped = {"partial_dependence": {"grid_size": 2, "group_column": "w"}}
    table = {**columns, "w": columns["w"] + 1}

    answer = ask(runner, table, grouped, engine="BLACK_BOX", row_count=100)

    assert rows_of(answer)["partial_dependence"] == RowsUsed(300, 300, 300, 0)


def test_contrasts_on_fewer_rows_than_firm_are_told(
    runner: InProcess, columns: dict[str, Any]
) -> None:
    asked = {"firm": {**METHODS["firm"], "contrasts": ["PARTIAL_DEPENDENCE"]}}

    answer = ask(runner, columns, asked, engine="BLACK_BOX")

    (told,) = (w.message for w in answer.warnings if w.code == "CONTRASTS_SAMPLED")
    assert "500 of 12,000 rows" in told
    assert rows_of(answer)["firm"].drawn == ROWS


def test_feature_vectors_of_the_models_own_trees_use_no_row(
    runner: InProcess, columns: dict[str, Any]
) -> None:
    answer = ask(runner, columns, {"feature_vectors": {"source": "MODEL"}})

    assert not answer.explanations[0].HasField("rows")
    assert answer.receipt.row_count == 0


def test_methods_on_the_same_rows_answer_as_each_alone(
    runner: InProcess, columns: dict[str, Any]
) -> None:
    """Averages merge equal rows, which losses keep, so that no method takes the other's rows."""
    repeated = {name: np.tile(values[:60], 2) for name, values in columns.items()}
    methods = {m: METHODS[m] for m in ("partial_dependence", "permutation_importance", "firm")}

    together = ask(runner, repeated, methods, engine="BLACK_BOX").explanations

    for one, (name, options) in zip(together, methods.items(), strict=True):
        (alone,) = ask(runner, repeated, {name: options}, engine="BLACK_BOX").explanations
        assert one == alone
