"""Nothing left of what a process needs: told by an error, and over once there is more again."""

from __future__ import annotations

import http.client
import json
import resource
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import numpy as np
import onnxplain
import pytest

pytestmark = pytest.mark.slow

# Waiting on disk while it arrives.
BODY = json.dumps({"seed": 1, "x": " " * 2**21})


@contextmanager
def limited(pid: int, kind: int, most: int) -> Iterator[None]:
    """Lower a limit of a process for a while."""
    before = resource.prlimit(pid, kind)
    resource.prlimit(pid, kind, (most, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, kind, before)


def post(server, body: str) -> tuple[int, Mapping[str, Any]]:
    connection = http.client.HTTPConnection("127.0.0.1", server.rest_port)
    try:
        connection.request("POST", "/v1/explanations", body, {"Content-Type": "application/json"})
        reply = connection.getresponse()
        return reply.status, json.load(reply)
    finally:
        connection.close()


def explained(server, network: bytes, rows: Mapping[str, list[float]]):
    few = {name: values[:20] for name, values in rows.items()}
    with onnxplain.connect(server.endpoint) as client:
        return client.explain(network, few, onnxplain.Interactions(pairwise_feature_count=2))


def test_a_full_disk_fails_bodies_that_wait_there_and_nothing_else(
    server, network: bytes, rows: Mapping[str, list[float]]
) -> None:
    with limited(server.process.pid, resource.RLIMIT_FSIZE, 0):
        status, document = post(server, BODY)
        assert (status, document["reason"]) == (507, "INSUFFICIENT_STORAGE")
        assert explained(server, network, rows).receipt.row_count == 20

    status, document = post(server, BODY)
    assert (status, document["reason"]) == (400, "INVALID_REQUEST")


def test_without_file_descriptors_it_waits_and_goes_on_when_there_are_some(
    server, network: bytes, rows: Mapping[str, list[float]]
) -> None:
    before = explained(server, network, rows)
    pid = server.process.pid
    used = max(int(path.name) for path in Path(f"/proc/{pid}/fd").iterdir()) + 1
    with limited(pid, resource.RLIMIT_NOFILE, used), suppress(onnxplain.ExplainError):
        explained(server, network, rows)

    after = explained(server, network, rows)

    for one, other in zip(after.interactions.pairwise, before.interactions.pairwise, strict=True):
        assert np.allclose(one.values, other.values)
    assert server.process.poll() is None
