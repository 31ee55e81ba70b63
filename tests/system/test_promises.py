"""What the whole service promises, seen from outside its process."""

import json
from http.client import HTTPConnection

import numpy as np
import onnxplain
import pytest

from tools.waiting import until

Rows = dict[str, list[float]]


def head(rows: Rows, count: int) -> Rows:
    return {name: values[:count] for name, values in rows.items()}


@pytest.mark.slow
def test_curves_at_the_rows_own_values_come_from_the_grids_of_interactions(
    server, network: bytes, rows: Rows
) -> None:
    few = head(rows, 60)
    with onnxplain.connect(server.endpoint) as client:
        client.explain(network, few, onnxplain.Interactions(pairwise_feature_count=3))
        curves = onnxplain.PartialDependence(
            features=["x0", "x7"], grids=[{"x0": few["x0"]}, {"x7": few["x7"]}]
        )
        again = client.explain(network, few, curves)

    assert again.receipt.predicted_row_count == 0
    assert again.receipt.cache_hit_count == 2
    assert again.receipt.cache_miss_count == 0


def test_more_pairs_predict_only_the_pairs_that_are_new(
    lasting_server, network: bytes, rows: Rows
) -> None:
    few = head(rows, 61)
    with onnxplain.connect(lasting_server.endpoint) as client:
        client.explain(network, few, onnxplain.Interactions(pairwise_feature_count=3))
        more = client.explain(network, few, onnxplain.Interactions(pairwise_feature_count=5))

    new_pairs = 10 - 3
    assert more.receipt.predicted_row_count == new_pairs * 61 * 61


@pytest.mark.slow
def test_one_way_statistics_predict_n_times_n_rows_per_feature_and_n_more(
    server, network: bytes, rows: Rows
) -> None:
    with onnxplain.connect(server.endpoint) as client:
        found = client.explain(
            network, head(rows, 100), onnxplain.Interactions(pairwise_feature_count=0)
        )

    assert found.receipt.predicted_row_count == 20 * 100 * 100 + 100


@pytest.mark.slow
def test_two_thousand_rows_of_twenty_features_take_less_than_300_mb(
    server, network: bytes, rows: Rows
) -> None:
    before = server.memory("VmRSS")

    with onnxplain.connect(server.endpoint) as client:
        found = client.explain(
            network,
            rows,
            onnxplain.Interactions(pairwise_feature_count=2),
            row_count=2_000,
            engine="BLACK_BOX",
        )

    assert found.receipt.row_count == 2_000
    assert server.memory("VmHWM") - before < 300e6


WORK_SECONDS = 10.0
"""Of a processor: the requests that are given up here would take many times as much."""


@pytest.mark.slow
def test_a_cancelled_call_frees_the_processor(server, network: bytes, rows: Rows) -> None:
    with onnxplain.connect(server.endpoint) as client:
        events = client.explain_stream(
            network, rows, onnxplain.Interactions(), row_count=4_000, engine="BLACK_BOX"
        )
        next(events)
        next(events)
        events.close()

        assert server.rests(WORK_SECONDS)


def test_a_client_that_disconnects_over_rest_frees_the_processor(
    lasting_server, network: bytes, rows: Rows
) -> None:
    body, kind = multipart(network, rows)
    connection = HTTPConnection("127.0.0.1", lasting_server.rest_port)
    connection.request("POST", "/v1/explanations", body, {"Content-Type": kind})
    start = lasting_server.processor_seconds()
    until(lambda: lasting_server.processor_seconds() > start + 1)

    connection.close()

    assert lasting_server.rests(WORK_SECONDS)


def multipart(model: bytes, rows: Rows) -> tuple[bytes, str]:
    table = "\n".join(
        [",".join(rows), *(",".join(map(repr, row)) for row in zip(*rows.values(), strict=True))]
    )
    parts = {
        'name="model"; filename="model.onnx"': model,
        'name="table"; filename="rows.csv"': table.encode(),
        'name="request"': json.dumps(
            {"rowCount": 4_000, "methods": [{"interactions": {}}], "engine": "BLACK_BOX"}
        ).encode(),
    }
    body = b"".join(
        b"--edge\r\nContent-Disposition: form-data; " + head.encode() + b"\r\n\r\n" + part + b"\r\n"
        for head, part in parts.items()
    )
    return body + b"--edge--\r\n", "multipart/form-data; boundary=edge"


def test_grpc_and_rest_give_the_same_numbers(lasting_server, network: bytes, rows: Rows) -> None:
    few = head(rows, 50)
    with onnxplain.connect(lasting_server.endpoint) as client:
        found = client.explain(network, few, onnxplain.Interactions())
    body, kind = multipart(network, few)
    connection = HTTPConnection("127.0.0.1", lasting_server.rest_port)
    connection.request("POST", "/v1/explanations", body, {"Content-Type": kind})
    by_rest = json.load(connection.getresponse())["explanations"][0]["interactions"]
    connection.close()

    ours = [statistic.values for statistic in found.interactions.pairwise]
    assert np.array_equal(ours, [statistic["values"] for statistic in by_rest["pairwise"]])
