"""Client without a server: the same calls, computed in this process."""

import json
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnxplain
import pytest
from google.protobuf import json_format
from onnxplain_server.__main__ import _blobs, _cache, _runner
from onnxplain_server.adapters.runner.local_decoder import LocalDecoder
from onnxplain_server.config.loading import load
from onnxplain_server.serve import Server

IRIS = Path(__file__).parents[2] / "examples/iris"
MODEL, ROWS = IRIS / "lightgbm.onnx", IRIS / "iris.csv"
FEATURES = ["sepal_length", "sepal_width", "petal_length", "petal_width"]
ASKED: dict[str, Any] = {"feature_columns": FEATURES, "target_column": "species", "row_count": 20}
METHODS = (
    onnxplain.Interactions(pairwise_feature_count=2),
    onnxplain.IndividualConditionalExpectation(features=["petal_length"], curve_count=3),
    onnxplain.PermutationImportance(loss="MLOGLOSS"),
    onnxplain.AverageLoss(loss="MLOGLOSS", group_column="species"),
)


@pytest.fixture
def client() -> Iterator[onnxplain.Client]:
    with onnxplain.local() as client:
        yield client


def explain(client: onnxplain.Client, **more) -> onnxplain.Explanations:
    return client.explain(MODEL, ROWS, *METHODS, **ASKED, **more)


def test_a_model_is_explained_by_every_method(client: onnxplain.Client) -> None:
    found = explain(client, engine="BLACK_BOX")

    assert found.interactions.output_names == ("setosa", "versicolor", "virginica")
    assert found.individual_conditional_expectation.curves[0].values.shape[0] == 3
    assert found.permutation_importance.output_names == ("total",)
    assert [loss.group for loss in found.average_loss.losses] == list(
        found.interactions.output_names
    )
    assert found.receipt.predicted_row_count > 0


def alike(found, expected) -> bool:
    """Whether two documents hold the same, but for the last digits of numbers.

    Processes that compute the same sums need not have them from the same instructions.
    """
    if isinstance(found, dict) and isinstance(expected, dict):
        return found.keys() == expected.keys() and all(
            alike(found[name], expected[name]) for name in expected
        )
    if isinstance(found, list) and isinstance(expected, list):
        return len(found) == len(expected) and all(map(alike, found, expected))
    if isinstance(found, float) and isinstance(expected, float):
        return bool(found == pytest.approx(expected, rel=1e-9, abs=1e-12, nan_ok=True))
    return bool(found == expected)


def document(explanation):
    """The explanation as JSON, and the plots in it as documents of their own."""
    plots = [json.loads(plot.vega_lite) for plot in explanation.plots]
    return {"message": json_format.MessageToDict(explanation.message), "plots": plots}


def test_the_answer_is_that_of_a_server(client: onnxplain.Client) -> None:
    server = Server(
        load({"rest_port": 0, "grpc_port": 0, "metrics_port": 0}),
        _runner(),
        _cache(),
        _blobs(),
        decoder=LocalDecoder(),
    )
    with onnxplain.connect(f"127.0.0.1:{server.grpc_port}") as remote:
        far, near = explain(remote), explain(client)
    server.drain(0)

    for one, other in zip(far, near, strict=True):
        assert alike(document(one), document(other))


def test_labels_need_no_model(client: onnxplain.Client) -> None:
    frame = {"a": [0.0, 0, 1, 1], "b": [0.0, 1, 0, 1], "y": [1.0, 3, 5, 7]}
    method = onnxplain.Firm()
    found = client.explain(None, frame, method, target_column="y", plots=False)

    assert found.receipt.model_digest == ""
    # Equation 10: differences of means, 4 and 2, times √(1/2 · 1/2).
    assert [i.values[0] for i in found.firm.importances] == pytest.approx([2, 1])
    with pytest.raises(onnxplain.ExplainError, match="no model"):
        client.explain(None, frame, onnxplain.Interactions())


def test_a_server_takes_a_model_that_is_too_large_for_its_messages() -> None:
    limit = 2**16
    settings = load({"rest_port": 0, "grpc_port": 0, "metrics_port": 0, "max_message_bytes": limit})
    server = Server(
        settings,
        _runner(),
        _cache(),
        _blobs(),
        decoder=LocalDecoder(),
    )
    endpoint = f"127.0.0.1:{server.grpc_port}"
    with onnxplain.connect(endpoint, message_limit=limit, retry_count=0) as remote:
        found = remote.explain(MODEL, ROWS, METHODS[3], plots=False, **ASKED)
        described = remote.describe(MODEL)
    server.drain(0)

    assert MODEL.stat().st_size > limit
    assert found.receipt.model_digest == described.digest
    assert found.average_loss.losses


def test_a_method_goes_by_its_name(client: onnxplain.Client) -> None:
    by_name, by_options = (
        client.explain(MODEL, ROWS, method, **ASKED)
        for method in ("permutation_importance", onnxplain.PermutationImportance())
    )
    assert by_name[0].to_json() == by_options[0].to_json()


def test_what_was_computed_is_not_computed_again(client: onnxplain.Client) -> None:
    first, second = (explain(client, engine="BLACK_BOX").receipt for _ in range(2))
    assert second.predicted_row_count < first.predicted_row_count / 10
    assert second.cache_hit_count > 0


def test_another_table_is_another_question(client: onnxplain.Client) -> None:
    rows = np.random.default_rng(1).normal(size=(20, 4))
    curves = onnxplain.PartialDependence(features=["f2"], grid_size=3)

    first, second = (
        client.explain(MODEL, table, curves).partial_dependence.curves[0].values
        for table in (rows, rows + 1)
    )
    assert not np.array_equal(first, second)


def test_progress_is_told_and_never_falls(client: onnxplain.Client) -> None:
    told: list[tuple[float, float]] = []
    explain(client, progress=lambda *at: told.append(at))

    assert told == sorted(told)
    assert told[-1][0] <= told[-1][1]


def test_a_stream_ends_with_the_explanations(client: onnxplain.Client) -> None:
    *progress, last = client.explain_stream(MODEL, ROWS, METHODS[0], **ASKED)

    assert all(isinstance(event, onnxplain.Progress) for event in progress)
    assert isinstance(last, onnxplain.Explanations)


def test_an_uploaded_model_and_table_go_by_their_ids(client: onnxplain.Client) -> None:
    model, table = client.upload_model(MODEL), client.upload_table(ROWS)
    found = client.explain(model, table, METHODS[0], **ASKED)

    assert found.receipt.model_digest == model.id
    assert found.receipt.table_digest == table.id
    assert client.describe(model).digest == model.id


def test_what_was_uploaded_to_another_is_uploaded_again(client: onnxplain.Client) -> None:
    with onnxplain.local() as other:
        model, table = other.upload_model(MODEL), other.upload_table(ROWS)

    assert client.explain(model, table, METHODS[0], **ASKED).interactions
    with pytest.raises(onnxplain.ExplainError) as caught:
        client.describe(onnxplain.ModelRef("sha256:" + "0" * 64))
    assert (caught.value.reason, caught.value.field) == ("BLOB_NOT_FOUND", "model.id")


def test_a_model_is_described(client: onnxplain.Client) -> None:
    assert client.describe(MODEL).output_names == ("setosa", "versicolor", "virginica")


def test_a_refusal_is_the_same_error_as_a_servers(client: onnxplain.Client) -> None:
    with pytest.raises(onnxplain.ExplainError) as caught:
        client.explain(MODEL, ROWS, onnxplain.Interactions(features=["petal", "age"]), **ASKED)

    assert (caught.value.reason, caught.value.code) == ("UNKNOWN_FEATURE", "INVALID_ARGUMENT")
    assert caught.value.field == "methods[0].interactions.features"


def test_what_takes_too_long_ends(client: onnxplain.Client) -> None:
    with pytest.raises(onnxplain.ExplainError) as caught:
        explain(client, timeout=0)
    assert caught.value.reason == "DEADLINE_EXCEEDED"


def test_closing_ends_what_runs(client: onnxplain.Client) -> None:
    """As soon as it has begun: its 160 million predictions would take hours."""
    rows = np.random.default_rng(1).normal(size=(3_000, 4))
    told: list[tuple[float, float]] = []
    begun = threading.Event()

    def tell(done: float, planned: float) -> None:
        told.append((done, planned))
        begun.set()

    def close() -> None:
        begun.wait(120)
        client.close()

    closer = threading.Thread(target=close)
    closer.start()
    with pytest.raises(onnxplain.ExplainError) as caught:
        client.explain(
            MODEL,
            rows,
            onnxplain.Interactions(threeway_feature_count=4),
            row_count=3_000,
            engine="BLACK_BOX",
            progress=tell,
        )
    closer.join()

    assert caught.value.reason in {"CANCELLED", "UNAVAILABLE"}
    assert told[-1][0] < told[-1][1]
    assert client.health() == "NOT_SERVING"


def test_without_the_servers_package_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("onnxplain.in_process.entry_points", lambda **_: ())
    with pytest.raises(ImportError, match="pip install onnxplain-server"):
        onnxplain.local()


def test_a_plan_tells_the_rows_that_are_then_predicted(client: onnxplain.Client) -> None:
    methods = METHODS[1:]
    plan = client.plan(MODEL, ROWS, *methods, **ASKED, engine="BLACK_BOX")
    found = client.explain(MODEL, ROWS, *methods, **ASKED, engine="BLACK_BOX")

    assert plan.predicted_row_count == found.receipt.predicted_row_count > 0
    assert [method.name for method in plan.methods] == [
        "individual_conditional_expectation",
        "permutation_importance",
        "average_loss",
    ]
    assert all(method.is_exact and method.engine == "BLACK_BOX" for method in plan.methods)
    assert plan.answer_byte_count == pytest.approx(found.message.ByteSize(), rel=0.2)
    assert json.loads(plan.to_json())["methods"][0]["engine"] == "BLACK_BOX"


def test_trees_predict_nothing(client: onnxplain.Client) -> None:
    plan = client.plan(
        MODEL,
        ROWS,
        onnxplain.Interactions(),
        feature_columns=FEATURES,
        target_column="species",
    )

    (method,) = plan.methods
    assert (method.engine, method.predicted_row_count, method.is_exact) == ("TREES", 0, True)
    assert 0 < method.seconds[0] < method.seconds[1]
