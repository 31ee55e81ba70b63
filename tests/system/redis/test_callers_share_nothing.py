"""Callers share a server and a Redis, and nothing that is in them."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import onnxplain
import pytest
from onnxplain_server.adapters.access.tokens import token_line

pytestmark = pytest.mark.slow

Rows = dict[str, list[float]]

CALLERS = ("ann", "bob")


@pytest.fixture
def pair(serve: Callable[..., Any], redis_server, tmp_path: Path) -> list[Any]:
    """Two servers on one Redis, for two callers, whose tokens are their names."""
    file = tmp_path / "tokens"
    file.write_text("".join(f"{token_line(name, name)}\n" for name in CALLERS))
    shared = {"redis_url": redis_server.url, "cache_secret": "0123456789abcdef"}
    return [serve(tokens_file=file, **shared) for _ in range(2)]


def by_grpc(server, caller: str, model: bytes, rows: Rows) -> dict[str, Any]:
    """What an explanation cost."""
    with onnxplain.connect(server.endpoint, token=caller) as client:
        found = client.explain(model, rows, onnxplain.Interactions(), plots=False)
    receipt = found.receipt
    return {
        "predicted": receipt.predicted_row_count,
        "hits": receipt.cache_hit_count,
        "misses": receipt.cache_miss_count,
    }


def ask(server, method: str, path: str, caller: str, body=None, **headers: str):
    connection = HTTPConnection("127.0.0.1", server.rest_port, timeout=600)
    connection.request(method, path, body, {"Authorization": f"Bearer {caller}", **headers})
    answer = connection.getresponse()
    found = answer.status, json.loads(answer.read())
    connection.close()
    return found


def by_rest(server, caller: str, model: bytes, rows: Rows) -> dict[str, Any]:
    columns = [{"name": name, "numbers": values} for name, values in rows.items()]
    request = {
        "model": {"content": base64.b64encode(model).decode()},
        "table": {"columns": {"columns": columns}},
        "methods": [{"interactions": {}}],
        "plots": False,
    }
    content = {"Content-Type": "application/json"}
    status, answer = ask(server, "POST", "/v1/explanations", caller, json.dumps(request), **content)
    assert status == 200, answer
    receipt = answer["receipt"]
    return {
        "predicted": int(receipt.get("predictedRowCount", 0)),
        "hits": int(receipt.get("cacheHitCount", 0)),
        "misses": int(receipt.get("cacheMissCount", 0)),
    }


def told(server, caller: str, name: str):
    """What is said of an uploaded model, but for its name."""
    status, answer = ask(server, "GET", f"/v1/models/{name}", caller)
    return status, answer.get("reason"), str(answer.get("detail")).replace(name, "ID")


def test_callers_find_nothing_of_each_other(
    pair: list[Any],
    network: bytes,
    rows: Rows,
    redis_server,
    undisturbed: Callable[..., None],
) -> None:
    """In one test, because servers take long to start."""
    random = np.random.default_rng(3)

    def fresh() -> Rows:
        return {name: random.normal(size=40).tolist() for name in rows}

    def attempt(_number: int) -> None:
        for explain in (by_grpc, by_rest):
            few = fresh()
            first = explain(pair[0], "ann", network, few)
            again = [explain(server, "ann", network, few) for server in pair]
            other = explain(pair[1], "bob", network, few)

            assert first["predicted"] > 0 == first["hits"]
            assert [(found["predicted"], found["misses"]) for found in again] == [(0, 0)] * 2
            # The same work as if nobody had asked before: no time tells what others have.
            assert other == first

    undisturbed(pair, attempt, lambda server: by_grpc(server, "ann", network, fresh()))
    with onnxplain.connect(pair[0].endpoint, token=CALLERS[0]) as client:
        uploaded = client.upload_model(network).id
    never = "sha256:" + "0" * 64
    assert redis_server.keys("part")
    for server in pair:
        assert told(server, "bob", uploaded) == told(server, "bob", never)
        assert told(server, "bob", uploaded)[:2] == (404, "BLOB_NOT_FOUND")
        assert told(server, "ann", uploaded)[0] == 200
