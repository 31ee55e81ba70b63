"""Rankings through a request: scores of queries, importances, draws of whole queries."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import onnxplain
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxplain import AverageLoss, PermutationImportance
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.explain.rows.ranked_rows import draw_rows
from onnxplain_server.methods.ranking.queries import Queries, one_query
from sklearn.metrics import ndcg_score

QUERIES, SIZE = 30, 6
RNG = np.random.default_rng(4)
X = RNG.normal(size=(QUERIES * SIZE, 2)).astype(np.float32)
SCORES = 100 - X[:, 0] - np.float32(0.1) * X[:, 1]
RELEVANCE = np.clip(np.round(2 - X[:, 0] + RNG.normal(scale=0.5, size=len(X))), 0, 4)
QUERY = np.array([f"q{k}" for k in range(QUERIES)]).repeat(SIZE)
ORDER = RNG.permutation(len(X))
TABLE = {"a": X[:, 0], "b": X[:, 1], "y": RELEVANCE, "query": QUERY, "other": X[:, 0]}
TABLE = {name: np.asarray(values)[ORDER] for name, values in TABLE.items()}


def ranker() -> bytes:
    """A score on a scale of its own: 100 - a - b / 10."""
    weights = numpy_helper.from_array(np.array([[-1.0], [-0.1]], np.float32), "w")
    shift = numpy_helper.from_array(np.array([100.0], np.float32), "c")
    nodes = [
        helper.make_node("MatMul", ["X", "w"], ["s"]),
        helper.make_node("Add", ["s", "c"], ["y"]),
    ]
    given = helper.make_tensor_value_info("X", TensorProto.FLOAT, ["n", 2])
    out = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1])
    graph = helper.make_graph(nodes, "g", [given], [out], [weights, shift])
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    return bytes(made.SerializeToString())


@pytest.fixture(scope="module")
def client():
    with onnxplain.local() as made:
        yield made


def asked(client, *methods, **request: Any):
    options = {"target_column": "y", "feature_columns": ["a", "b"]} | request
    table = {**TABLE, **options.pop("columns", {})}
    return client.explain(ranker(), table, *methods, **options)


def test_a_ranker_is_scored_query_by_query(client) -> None:
    ndcg = AverageLoss(query_column="query", rank_count=3)
    shuffled = PermutationImportance(loss="PAIRWISE_ACCURACY", query_column="query")
    answer = asked(client, ndcg, shuffled)

    relevant = RELEVANCE.reshape(QUERIES, SIZE)
    scores = SCORES.reshape(QUERIES, SIZE)
    result = answer.average_loss
    assert result.losses[0].values == pytest.approx([ndcg_score(relevant, scores, k=3)])
    at_random = ndcg_score(relevant, np.zeros((QUERIES, SIZE)), k=3)
    assert result.constant_losses == pytest.approx([at_random])
    falls = {one.features[0]: one.values[0] for one in answer.permutation_importance.importances}
    assert falls["a"] > 0.2 > falls["b"]
    own = f"NDCG (first 3) of y is {result.losses[0].values[0]:.3g}"
    assert f"{own}; that of a random order is {at_random:.3g}." in answer.summary
    assert answer.message.key_figures[0].comparison == f"a random order: {at_random:.3g}"
    assert "fall of the pairwise accuracy" in " ".join(answer.summary)
    assert not [w for w in answer.warnings if w.code == "FAR_FROM_TARGET"]


def test_a_ranker_is_not_called_as_bad_as_a_constant(client) -> None:
    [warning] = [w for w in asked(client, AverageLoss()).warnings if w.code == "FAR_FROM_TARGET"]

    assert "constant prediction" not in warning.message
    assert "of a ranking, NDCG or PAIRWISE_ACCURACY" in warning.message


@pytest.mark.parametrize("loss", ["NDCG", "PAIRWISE_ACCURACY"])
@pytest.mark.parametrize("method", [AverageLoss, PermutationImportance])
def test_a_reversed_order_is_told_as_such(client, method, loss: str) -> None:
    """Places are the true values, of which 1 is the best."""

    def told(**columns: Any) -> list[Any]:
        answer = asked(client, method(loss=loss, query_column="query"), columns=columns)
        return [w.message for w in answer.warnings if w.code == "REVERSED_RANKING"]

    relevance = RELEVANCE[ORDER]
    [message] = told(y=4 - relevance)
    assert message.startswith(f"On 180 rows of 30 queries the order is reversed: {loss} of y 0.")
    assert "of a random order 0." in message
    assert not told()
    assert not told(y=RNG.permutation(relevance))


def test_a_draw_takes_whole_queries(client) -> None:
    answer = asked(client, AverageLoss(query_column="query"), row_count=4 * SIZE)
    assert answer.message.explanations[0].rows.used_row_count == 4 * SIZE

    codes = np.array([2, 0, 1, 2, 0, 1, 0, 2])
    used = np.arange(1, 8)
    sample = SimpleNamespace(
        sampled_from=None, rows=used, requested_row_count=4, draw_few=lambda rows, n: rows[:n]
    )
    drawn = draw_rows(cast("Any", sample), Queries(codes), 8, "average_loss")
    assert set(codes[drawn]) == {0, 1}
    assert drawn.tolist() == [row for row in used if codes[row] < 2]


@pytest.mark.parametrize(
    ("method", "request_", "words"),
    [
        (AverageLoss(loss="MSE", query_column="query"), {}, "query_column is for the loss NDCG"),  # type: ignore[arg-type]
        (AverageLoss(loss="PAIRWISE_ACCURACY", rank_count=2), {}, "rank_count is for the loss"),
        (AverageLoss(loss="NDCG", sum_outputs=True), {}, "of which no sum is taken"),
        (AverageLoss(loss="NDCG"), {"columns": {"y": X[:, 0]}}, "must not be negative"),
        (AverageLoss(loss="NDCG", one_hot_target=True), {"columns": {"y": [0, 1] * 90}}, "AUC"),
        (AverageLoss(query_column="query"), {"weight_column": "w"}, "different weights"),
        (AverageLoss(query_column="gaps"), {}, "query column 'gaps' has no value in"),
        (AverageLoss(query_column="blanks"), {}, "query column 'blanks' has no value in row 7 "),
        (
            PermutationImportance(loss="NDCG"),
            {"columns": {"y": [0.0] * 180}},
            "NDCG is not defined for 'y' on the rows used, whose true values are all 0",
        ),
        (
            PermutationImportance(loss="PAIRWISE_ACCURACY"),
            {"columns": {"y": [2.0] * 180}},
            "PAIRWISE_ACCURACY is not defined for 'y' on the rows used, which have one true value",
        ),
    ],
)
def test_what_is_no_ranking_is_refused(client, method, request_, words: str) -> None:
    gaps = np.where(np.arange(len(X)) == 5, np.nan, 1.0)
    blanks = ["" if row == 7 else "q" for row in range(len(X))]
    columns = {"w": np.arange(1.0, len(X) + 1), "gaps": gaps, "blanks": blanks}
    columns |= request_.get("columns", {})
    with pytest.raises(onnxplain.ExplainError, match=words):
        asked(client, method, **{**request_, "columns": columns})


def test_a_sample_of_a_larger_table_cuts_queries() -> None:
    sample = SimpleNamespace(sampled_from=9)

    with pytest.raises(ExplainError, match="scored on whole queries"):
        draw_rows(cast("Any", sample), one_query(3), 3, "average_loss")
