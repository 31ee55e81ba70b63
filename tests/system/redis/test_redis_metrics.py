"""Metrics of Redis: the duration of each command for a request."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.request import urlopen

import onnxplain
from prometheus_client.parser import text_string_to_metric_families

SECRET = "0123456789abcdef"  # noqa: S105 - of the tests' own Redis


def redis_seconds(server) -> Mapping[str, float]:
    """Number of commands, by the bucket's upper limit."""
    with urlopen(f"http://127.0.0.1:{server.metrics_port}/metrics", timeout=120) as reply:
        page = reply.read().decode()
    return {
        sample.labels["le"]: sample.value
        for family in text_string_to_metric_families(page)
        for sample in family.samples
        if sample.name == "onnxplain_redis_seconds_bucket"
    }


def test_commands_for_requests_are_timed(
    serve, redis_server, network: bytes, rows: Mapping[str, list[float]]
) -> None:
    server = serve(redis_url=redis_server.url, cache_secret=SECRET)
    before = redis_seconds(server)

    with onnxplain.connect(server.endpoint) as client:
        client.explain(network, rows, onnxplain.Interactions(features=["x0", "x1"]), row_count=20)
    after = redis_seconds(server)

    assert before["+Inf"] == 0
    assert after["+Inf"] >= 2
    assert list(after.values()) == sorted(after.values())
