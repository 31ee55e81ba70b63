"""Decoders: processes that read JSON and forms of REST, confined, and without models."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain.v1.table_pb2 import Columns
from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerKind
from onnxplain_server.adapters.workers.isolated_decoder import IsolatedDecoder
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.request import Body, ServiceMethod

CASES = Path(__file__).parents[1] / "conformance" / "cases"
JSON = "application/json"

LATE_IMPORTS = """
import json, sys
from pathlib import Path
from onnxplain_server.adapters.programs import decode_worker
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.wire import rest_body

decode_worker.load()
loaded = set(sys.modules)
for name in sys.argv[1:]:
    case = json.loads(Path(name).read_bytes())
    text = json.dumps(case.get("request", case)).encode()
    for content in (text, text[: len(text) // 2], text.replace(b":", b": \\x00", 1)):
        for media_type in ("application/json", "multipart/form-data; boundary=b"):
            try:
                rest_body.decode(ServiceMethod.EXPLAIN, media_type, content)
            except ExplainError:
                pass
print(*sorted(set(sys.modules) - loaded))
print(*sorted(name for name in sys.modules if "." not in name))
"""


@pytest.fixture
def decoder(own) -> Iterator[IsolatedDecoder]:
    made = IsolatedDecoder(replace(own.order(), kind=WorkerKind.DECODE))
    made.wait_ready()
    yield made
    made.close()


def body(
    content: bytes, media_type: str = JSON, method: ServiceMethod = ServiceMethod.EXPLAIN
) -> Body:
    return Body(method, media_type, lambda: [content[:100], content[100:]])


def test_a_document_is_split_into_envelope_model_and_table(decoder, calls) -> None:
    table = {"columns": ["a", "b"], "data": [[1, 2.5], [3, None]]}
    document = {"model": {"content": "bW9kZWw="}, "dataframe_split": table, "seed": 7}

    parts = decoder.decode(body(json.dumps(document).encode()), calls())

    assert ExplainRequest.FromString(parts.envelope) == ExplainRequest(seed=7)
    assert (parts.model.form, bytes(parts.model.content)) == ("onnx", b"model")
    assert parts.table.form == "columns"
    first, second = Columns.FromString(bytes(parts.table.content)).columns
    assert (first.name, list(first.numbers)) == ("a", [1.0, 3.0])
    assert second.numbers[0] == 2.5


def test_a_form_is_split_without_reading_its_files(decoder, calls) -> None:
    form = (
        b"--b\r\nContent-Disposition: form-data; name=model; filename=m.onnx\r\n\r\n\x00\xff\r\n"
        b"--b\r\nContent-Disposition: form-data; name=table; filename=t.parquet\r\n\r\nrows\r\n"
        b"--b--\r\n"
    )

    parts = decoder.decode(body(form, "multipart/form-data; boundary=b"), calls())

    assert bytes(parts.model.content) == b"\x00\xff"
    assert (parts.table.form, bytes(parts.table.content)) == ("parquet", b"rows")
    assert ExplainRequest.FromString(parts.envelope) == ExplainRequest(model_name="m.onnx")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"{", Reason.INVALID_REQUEST),
        (b"[" * 100_000, Reason.INVALID_REQUEST),
        (b'{"instances": [[1], ["x"]]}', Reason.WRONG_TYPE),
    ],
)
def test_a_refusal_leaves_the_decoder_usable(
    decoder, calls, content: bytes, reason: Reason
) -> None:
    with pytest.raises(ExplainError) as caught:
        decoder.decode(body(content), calls())

    assert caught.value.reason is reason
    assert decoder.decode(body(b"{}"), calls()).envelope == b""
    assert decoder.counts().start_count <= 2


def test_a_document_that_needs_too_much_memory_is_refused(own, calls) -> None:
    settings = replace(own.order(arena_bytes=2**26), kind=WorkerKind.DECODE)
    small = replace(settings, budget=replace(settings.budget, memory_bytes=2**27))
    made = IsolatedDecoder(small)
    made.wait_ready()
    texts = ",".join(f'"{number:050}"' for number in range(1_000_000))
    columns = f'{{"columns": [{{"name": "a", "strings": [{texts}]}}]}}'

    with pytest.raises(ExplainError) as caught:
        made.decode(body(f'{{"table": {{"columns": {columns}}}}}'.encode()), calls())

    assert caught.value.reason is Reason.OUT_OF_MEMORY
    made.close()


def test_a_late_body_ends_with_its_deadline(decoder, calls) -> None:
    names = ",".join(f'"{number}": {number}' for number in range(300_000))

    with pytest.raises(ExplainError, match="the deadline passed"):
        decoder.decode(body(f'{{"inputs": {{{names}}}}}'.encode()), calls(0.01))


def test_a_decoder_imports_all_it_needs_before_it_is_confined_and_nothing_that_computes() -> None:
    cases = [str(path) for path in sorted(CASES.glob("*.json"))]
    assert cases
    told = subprocess.run(
        [sys.executable, "-c", LATE_IMPORTS, *cases], capture_output=True, text=True, check=True
    )

    late, loaded = told.stdout.split("\n")[:2]
    assert late.split() == []
    assert not {"numpy", "onnx", "onnxruntime", "pyarrow", "numba", "scipy"} & set(loaded.split())
