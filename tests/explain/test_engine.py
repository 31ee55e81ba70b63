"""The choice of the engine: trees where they apply, by name where asked for, and why."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from onnxplain.v1 import explanation_service_pb2 as service_pb2
from onnxplain.v1.table_pb2 import Column
from onnxplain_server.adapters.onnx import OnnxModel, load
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl

MODELS = Path(__file__).parents[1] / "models"
TREES, BLACK_BOX = service_pb2.ExplainRequest.TREES, service_pb2.ExplainRequest.BLACK_BOX


@pytest.fixture(scope="module")
def runner() -> Iterator[InProcess]:
    runner = InProcess(threads=2)
    yield runner
    runner.close()


def explain(runner: InProcess, name: str, copies: int = 1, **request):
    """Ask for interactions of a fixture on its own rows, repeated with a little noise."""
    known = json.loads((MODELS / f"{name}.json").read_text())
    asked = service_pb2.ExplainRequest(plots=False, **request)
    asked.model.content = (MODELS / f"{name}.onnx").read_bytes()
    random = np.random.default_rng(0)
    for column, values in known["columns"].items():
        numbers = np.tile(np.array(values, float), copies)
        noisy = numbers + random.normal(size=len(numbers)) * np.nanstd(numbers)
        asked.table.columns.columns.append(Column(name=column, numbers=noisy))
    asked.methods.add().interactions.pairwise_feature_count = 3
    call = RequestContext(
        RequestControl(600), MemoryCache(2**20, Signer(b"a secret of the tests")), ""
    )
    reply = runner.answer(Call(ServiceMethod.EXPLAIN, asked.SerializeToString()), call).content
    return service_pb2.ExplainResponse.FromString(reply)


def test_trees_explain_all_rows_without_predicting_more_than_a_check(runner: InProcess) -> None:
    answer = explain(runner, "lightgbm_regressor", copies=40)

    assert answer.receipt.engine == TREES
    assert answer.receipt.row_count > 500
    assert answer.receipt.predicted_row_count == 0
    assert "sums over trees" in answer.receipt.engine_reason


def test_a_black_box_explains_500_rows_and_says_why_it_is_one(runner: InProcess) -> None:
    answer = explain(runner, "network_float", copies=40)

    assert answer.receipt.engine == BLACK_BOX
    assert answer.receipt.row_count == 500
    assert "the model has no trees" in answer.receipt.engine_reason


def test_trees_behind_an_exponential_explain_without_predicting(runner: InProcess) -> None:
    answer = explain(runner, "lightgbm_poisson", copies=40)

    assert answer.receipt.engine == TREES
    assert answer.receipt.predicted_row_count == 0
    assert "the exponential of sums over trees" in answer.receipt.engine_reason


@pytest.mark.parametrize(
    ("name", "scale"),
    [
        ("xgboost_regressor", "RESPONSE"),
        ("catboost_3class", "MARGIN"),
        ("sklearn_random_forest_3class", "RESPONSE"),
        ("sklearn_hist_gradient_boosting_binary", "MARGIN"),
        ("xgboost_binary", "RESPONSE"),
        ("xgboost_3class", "RESPONSE"),
        ("catboost_3class", "RESPONSE"),
        ("lightgbm_3class_zipmap", "RESPONSE"),
        ("sklearn_gradient_boosting_3class", "RESPONSE"),
        ("sklearn_hist_gradient_boosting_binary", "RESPONSE"),
    ],
)
def test_both_engines_give_the_same_statistics(runner: InProcess, name: str, scale: str) -> None:
    trees, black_box = (
        explain(runner, name, copies=3, scale=scale, engine=engine).explanations[0].interactions
        for engine in ("TREES", "BLACK_BOX")
    )

    for order in ("overall", "importance", "pairwise"):
        ours = [list(s.numerators) for s in getattr(trees, order)]
        theirs = [list(s.numerators) for s in getattr(black_box, order)]
        largest = max(trees.mean_squares)
        np.testing.assert_allclose(ours, theirs, rtol=1e-4, atol=1e-7 * largest)


def test_probabilities_of_boosted_trees_are_explained_on_all_rows_but_pairs_on_5000(
    runner: InProcess,
) -> None:
    answer = explain(runner, "xgboost_3class", copies=130)

    assert answer.receipt.engine == TREES
    assert answer.receipt.row_count > 5_000
    assert answer.receipt.predicted_row_count == 0
    assert "softmax of sums over trees" in answer.receipt.engine_reason
    (warning,) = (each for each in answer.warnings if each.code == "PAIRS_SAMPLED")
    assert f"on 5,000 of {answer.receipt.row_count:,} distinct rows" in warning.message


def test_pairs_are_computed_on_as_many_rows_as_are_asked_for(runner: InProcess) -> None:
    answer = explain(runner, "xgboost_3class", copies=130, row_count=600)

    assert answer.receipt.engine == TREES
    assert "PAIRS_SAMPLED" not in [warning.code for warning in answer.warnings]


def test_where_all_rows_serve_for_pairs_there_is_nothing_to_say(runner: InProcess) -> None:
    for name in ("lightgbm_regressor", "network_float"):
        answer = explain(runner, name, copies=40)
        assert "PAIRS_SAMPLED" not in [warning.code for warning in answer.warnings]


def test_trees_asked_for_where_there_are_none_are_refused_with_the_reason(
    runner: InProcess,
) -> None:
    with pytest.raises(ExplainError, match="has no trees") as refusal:
        explain(runner, "network_float", engine="TREES")

    assert (refusal.value.reason, refusal.value.field) == (Reason.INVALID_OPTION, "engine")


def test_trees_that_disagree_with_the_model_are_not_used(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As when a view has misread a model: here it is of another model."""
    runner = InProcess(threads=1)
    other = load((MODELS / "xgboost_regressor.onnx").read_bytes())
    monkeypatch.setattr(OnnxModel, "trees", other.trees)

    answer = explain(runner, "lightgbm_regressor")

    assert answer.receipt.engine == BLACK_BOX
    assert "TREES_DISAGREE" in [warning.code for warning in answer.warnings]
    with pytest.raises(ExplainError, match="where the runtime predicts"):
        explain(runner, "lightgbm_regressor", engine="TREES")
    runner.close()


def test_intervals_of_both_engines_agree(runner: InProcess) -> None:
    found = []
    for engine in ("TREES", "BLACK_BOX"):
        known = json.loads((MODELS / "lightgbm_regressor.json").read_text())
        asked = service_pb2.ExplainRequest(plots=False, engine=engine, seed=4)
        asked.model.content = (MODELS / "lightgbm_regressor.onnx").read_bytes()
        for column, values in known["columns"].items():
            asked.table.columns.columns.append(Column(name=column, numbers=values))
        asked.methods.add().interactions.repeat_count = 25
        call = RequestContext(
            RequestControl(600), MemoryCache(2**20, Signer(b"a secret of the tests")), ""
        )
        answer = service_pb2.ExplainResponse.FromString(
            runner.answer(Call(ServiceMethod.EXPLAIN, asked.SerializeToString()), call).content
        )
        statistics = answer.explanations[0].interactions.overall
        found.append([[*s.values, *s.standard_errors, *s.lower, *s.upper] for s in statistics])

    np.testing.assert_allclose(found[0], found[1], rtol=1e-3, atol=1e-7)
    assert np.ptp(found[0]) > 0


@pytest.mark.parametrize("option", ["knot_count", "quantile_bin_count"])
def test_trees_say_that_an_approximation_is_unnecessary(runner: InProcess, option: str) -> None:
    methods = [service_pb2.MethodOptions() for _ in range(2)]
    setattr(methods[0].interactions, option, 5)
    methods[1].interactions.SetInParent()

    both = explain(runner, "lightgbm_regressor", methods=methods)
    plain = explain(runner, "lightgbm_regressor")

    (warning,) = [w for w in both.warnings if w.code == "APPROXIMATION_UNNECESSARY"]
    assert warning.message.startswith(option)
    assert not [w for w in plain.warnings if w.code == "APPROXIMATION_UNNECESSARY"]
    approximated, exact = (e.interactions.total.values for e in both.explanations[:2])
    assert (approximated == exact) == (option == "knot_count")
    found = both.explanations[0].interactions
    assert not any(s.numerator_errors for s in (found.total, *found.overall, *found.pairwise))


def test_a_black_box_is_interpolated_without_a_word(runner: InProcess) -> None:
    methods = [service_pb2.MethodOptions()]
    methods[0].interactions.knot_count = 9

    answer = explain(runner, "network_float", copies=3, methods=methods)

    assert "APPROXIMATION_UNNECESSARY" not in [w.code for w in answer.warnings]
    assert answer.explanations[0].interactions.total.numerator_errors
    assert not answer.explanations[1].interactions.total.numerator_errors
