"""What a real server counts of real requests."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.request import urlopen

import onnxplain
from prometheus_client.parser import text_string_to_metric_families


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
    server, network: bytes, rows: Mapping[str, list[float]]
) -> None:
    options = onnxplain.Interactions(features=["x0", "x1", "x2"])
    with onnxplain.connect(server.endpoint) as client:
        receipts = [client.explain(network, rows, options, row_count=50).receipt for _ in range(2)]

    page = scrape(server)

    assert page["onnxplain_explain_duration_seconds_count", "interactions"] == 2
    predicted = sum(receipt.predicted_row_count for receipt in receipts)
    assert page["onnxplain_predicted_rows_total", ""] == predicted > 0
    assert page["onnxplain_cache_requests_total", "hit"] >= receipts[1].cache_hit_count > 0
    assert page["onnxplain_cache_bytes", ""] > 0
    assert page["process_resident_memory_bytes", ""] > 50_000_000
    assert page["onnxplain_in_flight_requests", ""] == 0
