"""Remote models: what the computation asks of them, and what it makes of their answers."""

from __future__ import annotations

import threading
import time
from typing import Any

import numpy as np
import pytest
from onnxplain.v1.average_loss_pb2 import AverageLossOptions
from onnxplain.v1.explanation_service_pb2 import MethodOptions
from onnxplain.v1.feature_vectors_pb2 import FeatureVectorsOptions
from onnxplain.v1.individual_conditional_expectation_pb2 import (
    IndividualConditionalExpectationOptions,
)
from onnxplain.v1.interactions_pb2 import InteractionsOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.partial_dependence_pb2 import PartialDependenceOptions
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ReplyFormat, ServiceMethod

from tools.stores.model_server import of_function
from tools.waiting import PATIENCE_SECONDS

RANDOM = np.random.default_rng(4)
NAMES = ("a", "b", "c")
ROWS = 60
BESIDE = 16 * 4
"""Rows that check the model beside those of a method: at begin, again, alone, at end."""


def csv_of(columns: dict[str, Any]) -> bytes:
    rows = zip(*columns.values(), strict=True)
    lines = [",".join(columns), *(",".join(map(str, row)) for row in rows)]
    return "\n".join(lines).encode()


TABLE = csv_of({name: RANDOM.normal(size=ROWS).round(3) for name in NAMES})
PAIRS = MethodOptions(interactions=InteractionsOptions(pairwise_feature_count=4))
CURVES = MethodOptions(partial_dependence=PartialDependenceOptions())
OF_ROWS = MethodOptions(
    individual_conditional_expectation=IndividualConditionalExpectationOptions()
)


def product(a: Any, b: Any, c: Any) -> Any:
    return a * b + c


def test_the_receipt_counts_each_row_that_the_remote_was_asked_for(asking, make) -> None:
    remote = asking(of_function(product, NAMES))

    answer = remote.explain(make.host(), remote.request(TABLE, PAIRS))

    assert answer.receipt.predicted_row_count == remote.served.row_count
    assert 0 < remote.served.row_count <= ROWS**2 * (3 + 3)


def test_equal_rows_are_asked_for_once(asking, make) -> None:
    """A feature moved to a row's own value gives the row itself, once for each row and sweep.

    Of four features, two moved to the values of row i give row i with the others moved: six pairs
    take three sweeps.
    """
    names = ("a", "b", "c", "d")
    random = np.random.default_rng(8)
    table = csv_of({name: random.normal(size=ROWS) for name in names})
    remote = asking(of_function(lambda a, b, c, d: a * b * c * d, names), call_count=1)

    answer = remote.explain(make.host(), remote.request(table, PAIRS))

    assert len(answer.explanations[0].interactions.pairwise) == 6
    expected = BESIDE + ROWS + (4 + 3) * (ROWS**2 - ROWS)
    assert remote.served.row_count == pytest.approx(expected, abs=50)  # rows without a slot


def test_rows_of_one_method_are_not_asked_for_again_by_another(asking, make) -> None:
    both, one = (asking(of_function(product, NAMES), call_count=1) for _ in range(2))

    both.explain(make.host(), both.request(TABLE, CURVES, OF_ROWS))
    one.explain(make.host(), one.request(TABLE, CURVES))

    assert both.served.row_count == pytest.approx(one.served.row_count, abs=50)


def test_a_remote_has_the_interactions_of_its_function(asking, make) -> None:
    remote = asking(of_function(product, NAMES))

    answer = remote.explain(make.host(), remote.request(TABLE, PAIRS))

    strengths = {
        tuple(each.features): each.numerators[0]
        for each in answer.explanations[0].interactions.pairwise
    }
    assert strengths["a", "b"] > 0.1
    assert strengths["a", "c"] == strengths["b", "c"] == 0


def test_calls_hold_no_more_rows_than_the_operator_allows_and_no_more_run_at_a_time(
    asking, make
) -> None:
    together, have_met = threading.Barrier(3), threading.Event()

    def waiting(a: Any, b: Any, c: Any) -> Any:
        if len(a) > ROWS and not have_met.is_set():  # the first calls of a sweep
            together.wait(PATIENCE_SECONDS)
            have_met.set()
        return product(a, b, c)

    remote = asking(of_function(waiting, NAMES), row_limit=1_000, call_count=3)
    answer = remote.explain(make.host(), remote.request(TABLE, PAIRS))

    assert answer.receipt.predicted_row_count == remote.served.row_count
    assert remote.served.largest_call <= 1_000
    assert remote.served.most_at_once == 3


def test_the_plan_bounds_what_is_asked_for(asking, make) -> None:
    remote = asking(of_function(product, NAMES))
    planned = remote.plan(make.host(), remote.request(TABLE, PAIRS))
    remote.served.row_count = 0

    remote.explain(make.host(), remote.request(TABLE, PAIRS))

    assert 0 < remote.served.row_count - BESIDE <= planned.predicted_row_count


def test_a_budget_of_rows_bounds_what_is_asked_for(asking, make) -> None:
    remote = asking(of_function(product, NAMES))
    asked = remote.request(TABLE, PAIRS, budget_predicted_row_count=10_000)

    answer = remote.explain(make.host(), asked)

    assert remote.served.row_count <= 10_000 + BESIDE
    assert remote.served.row_count == answer.receipt.predicted_row_count
    assert "BUDGET_REDUCED" in {warning.code for warning in answer.warnings}


def test_a_replaced_model_on_the_way_gives_no_answer_and_leaves_the_cache_alone(
    asking, make
) -> None:
    remote, host = asking(of_function(product, NAMES), call_count=1), make.host()
    asked = remote.request(TABLE, PAIRS, model=remote.model(identity="first"))
    remote.explain(host, asked)
    kept = dict(host.values)
    served, before = remote.served, remote.served.predict
    served.row_count = 0

    def replaced(inputs: Any) -> Any:
        return before(inputs) * (2 if served.row_count > 5_000 else 1)

    served.predict = replaced

    with pytest.raises(ExplainError) as raised:
        remote.explain(
            host, remote.request(TABLE[:-20], PAIRS, model=remote.model(identity="first"))
        )

    assert raised.value.reason is Reason.REMOTE_MODEL_CHANGED
    # Probe rows of this table apart, nothing was cached.
    assert len(host.values) == len(kept) + 1


def test_numbers_are_cached_under_a_stated_identity_only(asking, make) -> None:
    remote, host = asking(of_function(product, NAMES)), make.host()

    for _ in range(2):
        remote.explain(host, remote.request(TABLE, PAIRS))
    assert host.values == {}
    for model in (remote.model(identity="first"), remote.model(version="1")):
        remote.served.metadata["versions"] = ["1"]
        first = remote.explain(host, remote.request(TABLE, PAIRS, model=remote.model(identity="x")))
        again = remote.explain(host, remote.request(TABLE, PAIRS, model=remote.model(identity="x")))
        assert model
    assert again.receipt.predicted_row_count == 2 * 16
    assert again.explanations == first.explanations


def test_another_model_under_the_same_identity_is_told_and_computed_anew(asking, make) -> None:
    remote, host = asking(of_function(product, NAMES)), make.host()
    asked = remote.request(TABLE, PAIRS, model=remote.model(identity="first"))
    first = remote.explain(host, asked)
    remote.served.predict = of_function(lambda a, b, c: a * c + b, NAMES).predict

    second = remote.explain(host, asked)

    assert "REMOTE_MODEL_REPLACED" in {warning.code for warning in second.warnings}
    assert second.explanations != first.explanations
    assert second.receipt.remote_model.probe_digest != first.receipt.remote_model.probe_digest
    assert second.receipt.cache_hit_count == 0
    again = remote.explain(host, asked)
    assert again.explanations == second.explanations
    assert again.receipt.predicted_row_count == 2 * 16


def test_the_receipt_tells_what_was_asked(asking, make) -> None:
    remote = asking(of_function(product, NAMES))
    asked = remote.request(TABLE, CURVES, model=remote.model(identity="churn of May"))

    answer = remote.explain(make.host(), asked)

    told = answer.receipt.remote_model
    assert (told.uri, told.name, told.identity) == (remote.url, "model", "churn of May")
    assert told.platform == "function"
    assert told.probe_digest.startswith("sha256:")
    assert not answer.receipt.model_digest
    assert not answer.model.digest
    assert not answer.receipt.sources


def test_a_remote_whose_answer_depends_on_the_rows_beside_is_refused(asking, make) -> None:
    remote = asking(of_function(lambda a, b, c: a - a.mean() + b * c, NAMES))

    with pytest.raises(ExplainError) as raised:
        remote.explain(make.host(), remote.request(TABLE, CURVES))

    assert raised.value.reason is Reason.INCONSISTENT_MODEL
    assert "rows beside it" in raised.value.message


def test_an_inconsistent_remote_is_explained_where_that_is_allowed_and_never_cached(
    asking, make
) -> None:
    remote, host = asking(of_function(lambda a, b, c: a - a.mean() + b * c, NAMES)), make.host()
    asked = remote.request(
        TABLE, CURVES, model=remote.model(identity="x"), allow_inconsistent_model=True
    )

    answer = remote.explain(host, asked)

    assert "INCONSISTENT_MODEL" in {warning.code for warning in answer.warnings}
    assert host.values == {}


def test_a_row_of_the_table_that_the_remote_refuses_is_named(asking, make) -> None:
    def picky(a: Any, b: Any, c: Any) -> Any:
        if (a > 100).any():
            raise ValueError("a is out of range")
        return a + b + c

    remote = asking(of_function(picky, NAMES))
    table = TABLE + b"\n1000,0,0"

    with pytest.raises(ExplainError) as raised:
        remote.explain(make.host(), remote.request(table, CURVES))

    assert raised.value.reason is Reason.PREDICTION_FAILED
    assert f"row {ROWS} " in raised.value.message
    assert "a = 1000.0" in raised.value.message
    assert "out of range" in raised.value.message


def test_a_made_up_row_that_the_remote_refuses_is_told_by_its_values(asking, make) -> None:
    def picky(a: Any, b: Any, c: Any) -> Any:
        if (np.sign(a) != np.sign(b)).any():
            raise ValueError("signs differ")
        return a + b + c

    remote = asking(of_function(picky, NAMES))
    values = np.arange(10) - 4.5
    table = csv_of({"a": values, "b": 2 * values, "c": values})

    with pytest.raises(ExplainError) as raised:
        remote.explain(make.host(), remote.request(table, PAIRS))

    assert raised.value.reason is Reason.PREDICTION_FAILED
    assert "a row with a = " in raised.value.message


def shares(a: Any, b: Any, c: Any) -> Any:
    score = 1 / (1 + np.exp(-(a * b + c)))
    return np.stack([1 - score, score], axis=1)


def test_two_columns_that_are_shares_of_1_on_each_probe_row_score_two_classes(asking, make) -> None:
    remote = asking(of_function(shares, NAMES, width=2))

    answer = remote.explain(make.host(), remote.request(TABLE, CURVES))

    assert answer.model.has_class_scores
    assert list(answer.model.default_output_indices) == [1]
    assert list(answer.explanations[0].partial_dependence.output_names) == ["1"]


def test_two_columns_that_add_up_to_1_outside_of_0_and_1_are_two_outputs(asking, make) -> None:
    remote = asking(
        of_function(
            lambda a, b, c: np.stack([a, 1 - a], axis=1) + 0 * (b + c)[:, None], NAMES, width=2
        )
    )

    answer = remote.explain(make.host(), remote.request(TABLE, CURVES))

    assert not answer.model.has_class_scores
    assert list(answer.model.default_output_indices) == [0, 1]


def test_one_column_of_probabilities_scores_a_class_where_labels_say_so(asking, make) -> None:
    remote = asking(of_function(lambda a, b: 1 / (1 + np.exp(-a * b)), ("a", "b")))
    table = csv_of({"a": RANDOM.normal(size=30), "b": RANDOM.normal(size=30), "y": ["n", "j"] * 15})
    loss = MethodOptions(average_loss=AverageLossOptions(loss="LOGLOSS"))
    asked = remote.request(table, loss, target_column="y", class_labels=["n", "j"])

    answer = remote.explain(make.host(), asked)

    assert not answer.model.has_class_scores
    assert [pairing.label for pairing in answer.explanations[0].class_pairings] == ["n", "j"]


def test_feature_vectors_of_the_model_itself_are_refused(asking, make) -> None:
    remote = asking(of_function(product, NAMES))
    vectors = MethodOptions(feature_vectors=FeatureVectorsOptions(source="MODEL"))

    with pytest.raises(ExplainError) as raised:
        remote.explain(make.host(), remote.request(TABLE, vectors))

    assert "has no trees" in raised.value.message


def test_output_names_of_the_caller_name_the_columns(asking, make) -> None:
    remote = asking(of_function(shares, NAMES, width=2))
    model = remote.model(output_names=["stays", "leaves"])

    answer = remote.explain(make.host(), remote.request(TABLE, CURVES, model=model))

    assert list(answer.model.output_names) == ["stays", "leaves"]


@pytest.mark.parametrize(
    ("given", "reason", "field"),
    [
        ({"scale": "MARGIN"}, Reason.MARGIN_UNAVAILABLE, "scale"),
        ({"engine": "TREES"}, Reason.INVALID_OPTION, "engine"),
    ],
)
def test_what_needs_the_graph_is_refused(asking, make, given, reason, field) -> None:
    remote = asking(of_function(product, NAMES))

    with pytest.raises(ExplainError) as raised:
        remote.explain(make.host(), remote.request(TABLE, PAIRS, **given))

    assert (raised.value.reason, raised.value.field) == (reason, field)


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"protocol": 0}, "model.remote.protocol"),
        ({"uri": "ftp://host"}, "model.remote.uri"),
        ({"uri": "http://user:secret@host"}, "model.remote.uri"),
        ({"uri": "http://host/?q"}, "model.remote.uri"),
        ({"uri": "http://host", "protocol": "OIP_GRPC"}, "model.remote.uri"),
        ({"name": ""}, "model.remote.name"),
        ({"output_names": ["a", "a"]}, "model.remote.output_names"),
        ({"output_names": ["a", "b", "c"]}, "model.remote.output_names"),
        ({"inputs": [{"name": "a", "type": "decimal"}]}, "model.remote.inputs[0].type"),
    ],
)
def test_an_address_that_cannot_be_asked_is_refused_with_its_field(
    asking, make, given, field
) -> None:
    remote = asking(of_function(product, NAMES))

    with pytest.raises(ExplainError) as raised:
        remote.explain(make.host(), remote.request(TABLE, CURVES, model=remote.model(**given)))

    assert (raised.value.reason, raised.value.field) == (Reason.INVALID_REQUEST, field)


def test_a_digest_beside_a_remote_is_refused(asking, make) -> None:
    remote = asking(of_function(product, NAMES))
    model = Model(remote=remote.model().remote, sha256="0" * 64)

    with pytest.raises(ExplainError) as raised:
        remote.explain(make.host(), remote.request(TABLE, CURVES, model=model))

    assert raised.value.field == "model.sha256"


def test_a_description_tells_what_the_server_tells_and_made_up_rows_show(asking, make) -> None:
    remote = asking(of_function(shares, NAMES, width=2))

    told = remote.describe(make.host(), remote.model()).model

    assert [each.name for each in told.inputs] == list(NAMES)
    assert list(told.output_names) == ["0", "1"] or len(told.output_names) == 2
    assert told.has_class_scores
    assert (told.digest, told.producer) == ("", "function")
    assert "no score before" in told.margin_refusal


def test_a_cancelled_request_ends_between_calls(asking, make) -> None:
    remote = asking(of_function(product, NAMES), row_limit=32, call_count=1)

    with pytest.raises(ExplainError) as raised:
        remote.explain(make.host(40), remote.request(TABLE, PAIRS))

    assert raised.value.reason is Reason.CANCELLED
    assert remote.served.row_count < ROWS**2


def test_a_budget_of_seconds_counts_the_way_of_a_call_once_for_many_rows(asking, make) -> None:
    """With 0.3 s for each call, single rows would take 300 times the budget."""

    def far(a: Any, b: Any, c: Any) -> Any:
        time.sleep(0.3)
        return product(a, b, c)

    remote = asking(of_function(far, NAMES))
    asked = remote.request(TABLE, PAIRS, budget_seconds=20)

    answer = remote.explain(make.host(), asked)

    assert answer.explanations[0].rows.drawn_row_count >= 30


def test_a_description_without_made_up_rows_tells_what_the_server_tells(asking, make) -> None:
    def picky(a: Any, b: Any) -> Any:
        raise ValueError(f"refused {len(a)} of {len(b)}")

    remote = asking(of_function(picky, ("a", "b"), width=2))

    told = remote.describe(make.host(), remote.model(output_names=["no", "yes"])).model

    assert list(told.output_names) == ["no", "yes"]
    assert not told.has_class_scores


def test_a_part_of_an_answer_is_published_only_by_the_same_model(asking, make) -> None:
    remote = asking(of_function(product, NAMES))
    published: list[bytes] = []
    served, before = remote.served, remote.served.predict
    served.predict = lambda inputs: before(inputs) * (2 if served.row_count > 5_000 else 1)
    host = make.host()
    host.publish = published.append
    asked = remote.request(TABLE, PAIRS, CURVES, partial=True)

    with pytest.raises(ExplainError) as raised:
        remote.runner.answer(
            Call(ServiceMethod.EXPLAIN, asked.SerializeToString(), reply_format=ReplyFormat.EVENT),
            host,
        )

    assert raised.value.reason is Reason.REMOTE_MODEL_CHANGED
    assert published == []
