"""Metrics of a real server after real requests."""

from __future__ import annotations

import os
import signal
from collections.abc import Mapping
from urllib.request import urlopen

import onnx
import onnxplain
from prometheus_client.parser import text_string_to_metric_families

from tools.waiting import until


def scrape(server) -> Mapping[tuple[str, str], float]:
    """Read the page: values by the sample's name and its labels' values."""
    with urlopen(f"http://127.0.0.1:{server.metrics_port}/metrics", timeout=120) as reply:
        text = reply.read().decode()
    return {
        (sample.name, " ".join(sample.labels.values())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_answers_rows_and_the_cache_are_counted_as_receipts_tell(
    lasting_server, network: bytes, rows: Mapping[str, list[float]]
) -> None:
    server, options = lasting_server, onnxplain.Interactions(features=["x0", "x1", "x2"])
    before = scrape(server)
    with onnxplain.connect(server.endpoint) as client:
        # Of a seed that no other test has: the server has no such rows in its cache.
        receipts = [
            client.explain(network, rows, options, row_count=50, seed=3535).receipt
            for _ in range(2)
        ]

    until(lambda: scrape(server)["onnxplain_in_flight_requests", ""] == 0)
    page = scrape(server)

    def grown(name: str, label: str) -> float:
        return page[name, label] - before.get((name, label), 0)

    assert grown("onnxplain_explain_duration_seconds_count", "interactions") == 2
    predicted = sum(receipt.predicted_row_count for receipt in receipts)
    assert grown("onnxplain_predicted_rows_total", "") == predicted > 0
    assert grown("onnxplain_cache_requests_total", "hit") >= receipts[1].cache_hit_count > 0
    assert page["onnxplain_cache_bytes", ""] > 0
    assert page["process_resident_memory_bytes", ""] > 50_000_000


def test_processor_time_of_workers_grows_and_never_falls(
    lasting_server, network: bytes, rows: Mapping[str, list[float]]
) -> None:
    server, name = lasting_server, ("onnxplain_worker_cpu_seconds_total", "")
    before = scrape(server)[name]
    with onnxplain.connect(server.endpoint) as client:
        client.explain(network, rows, onnxplain.Interactions(), row_count=100)
        busy = scrape(server)[name]

    for worker in server.workers() - server.children():
        os.kill(worker, signal.SIGKILL)

    assert 0 < before < busy
    for _ in range(20):
        after = scrape(server)[name]
        assert after >= busy
        busy = after


def test_uploads_are_counted(lasting_server, network: bytes) -> None:
    before = scrape(lasting_server)
    model = onnx.load_from_string(network)
    model.doc_string = "of a test of metrics"
    content = model.SerializeToString()
    with onnxplain.connect(lasting_server.endpoint) as client:
        client.upload_model(content)
        client.upload_model(content)
    page = scrape(lasting_server)

    assert page["onnxplain_uploads", ""] - before["onnxplain_uploads", ""] == 1
    size = page["onnxplain_upload_bytes", ""] - before["onnxplain_upload_bytes", ""]
    assert size == len(content)
    assert page["onnxplain_upload_limit_bytes", ""] > 2**20
