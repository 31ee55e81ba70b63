"""Bodies in gzip, both ways: the same request, the same answer, and no more than the limit."""

from __future__ import annotations

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.request import Reply
from onnxplain_server.transport.rest.compression import unpacked

JSON = {"Content-Type": "application/json"}
PACKED = {**JSON, "Content-Encoding": "gzip"}
LIMIT = 2**20
REQUEST = json.dumps({"rowCount": 7}).encode()


@pytest.fixture
def client(start, make_runner):
    runner = make_runner()
    text = json.dumps({"summary": ["a sentence " * 200]}).encode()
    runner.answer = lambda *_given: Reply((text,))
    return start(runner, max_message_bytes=LIMIT)


@pytest.mark.parametrize("headers", [JSON, {**JSON, "Accept-Encoding": "gzip"}])
def test_a_body_in_gzip_is_the_same_request(client, headers: dict[str, str]) -> None:
    plain = client.rest("POST", "/v1/explanations", REQUEST, JSON)
    packed = client.rest("POST", "/v1/explanations", gzip.compress(REQUEST), {**PACKED, **headers})

    assert plain.status == packed.status == 200
    assert plain.headers["Vary"] == packed.headers["Vary"] == "Accept-Encoding"
    is_packed = "Accept-Encoding" in headers
    assert packed.headers.get("Content-Encoding") == ("gzip" if is_packed else None)
    assert (gzip.decompress(packed.body) if is_packed else packed.body) == plain.body


def test_an_upload_in_gzip_is_the_same_file(client) -> None:
    def uploaded(body: bytes, **headers: str):
        given = {"Content-Type": "text/csv", **headers}
        return client.rest("PUT", "/v1/tables", body, given).json["id"]

    table = b"a,b\n1,2\n"
    assert uploaded(gzip.compress(table), **{"Content-Encoding": "gzip"}) == uploaded(table)


@pytest.mark.parametrize(
    ("body", "encoding", "status", "words"),
    [
        (gzip.compress(bytes(LIMIT + 1)), "gzip", 413, "unpacks to more than 1,048,576 bytes"),
        (gzip.compress(REQUEST)[:-1], "gzip", 400, "is cut"),
        (gzip.compress(REQUEST) + b"more", "gzip", 400, "more behind its end"),
        (REQUEST, "gzip", 400, "cannot be unpacked"),
        (REQUEST, "br", 415, "Content-Encoding gzip"),
    ],
    ids=["a bomb", "cut", "more", "plain", "another encoding"],
)
def test_a_body_that_is_not_unpacked(
    client, body: bytes, encoding: str, status: int, words: str
) -> None:
    headers = {**JSON, "Content-Encoding": encoding}
    refused = client.rest("POST", "/v1/explanations", body, headers)

    assert refused.status == status
    assert words in refused.json["detail"]


def test_a_form_in_gzip_unpacks_to_no_more_than_an_upload_may_have(start, make_runner) -> None:
    client = start(make_runner(), max_model_bytes=LIMIT)
    head = b'--x\r\nContent-Disposition: form-data; name="model"; filename="m.onnx"\r\n\r\n'
    body = gzip.compress(head + bytes(8 * LIMIT) + b"\r\n--x--\r\n")
    headers = {"Content-Type": "multipart/form-data; boundary=x", "Content-Encoding": "gzip"}
    refused = client.rest("PUT", "/v1/models", body, headers)

    assert refused.status == 413
    assert "unpacks to more than 1,048,576 bytes" in refused.json["detail"]


@given(st.binary(max_size=3_000), st.integers(1, 700), st.integers(0, 3_000))
def test_parts_are_unpacked_within_the_limit(content: bytes, size: int, limit: int) -> None:
    packed = gzip.compress(content)
    parts = iter([packed[at : at + size] for at in range(0, len(packed), size)])

    if len(content) <= limit:
        assert b"".join(unpacked(parts, limit)) == content
        return
    with pytest.raises(Exception, match="unpacks to more") as refused:
        list(unpacked(parts, limit))
    assert not isinstance(refused.value, ExplainError)
