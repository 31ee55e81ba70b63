"""Write one folder of seeds per target: python tests/fuzz/seeds.py FOLDER."""

from __future__ import annotations

import io
import json
import struct
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

import credential_seeds
import pyarrow as pa
import pyarrow.ipc
import pyarrow.parquet
import remote_targets
from onnxplain.v1.explanation_service_pb2 import ExplainRequest
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.adapters.workers.ipc import payloads
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.telemetry.spans import Span
from onnxplain_server.wire import rest_request
from remote_session_targets import SEEDS as REMOTE_SEEDS
from targets import TARGETS

_ROWS = pa.table({"a": [1.0, None, 3.5], "city": ["Bern", "", None], "n": [1, 2, 3]})
_DOCUMENTS = (
    {"inputs": {"a": [1, None], "city": ["x", None]}, "seed": 3},
    {"instances": [{"a": 1}, {"b": "x"}], "methods": [{"interactions": {"features": ["a"]}}]},
    {"dataframe_split": {"columns": ["a"], "data": [[1]]}, "scale": "MARGIN", "rowCount": "5"},
    {"table": {"csv": "YSxiCjEsMgo="}, "methods": [{"firm": {"features": ["a > 1"]}}]},
    {"table": {"columns": {"columns": [{"name": "a", "numbers": ["NaN", -0.5]}]}}},
)

_HEADS = (
    (
        b"POST /v1/explanations HTTP/1.1\r\nHost: a.example.com\r\nAuthorization: Bearer t\r\n"
        b"Origin: https://app.example.com\r\nContent-Length: 2\r\nX-Request-Timeout-Ms: 5\r\n\r\n{}"
    ),
    (
        b"PUT /v1/models HTTP/1.1\r\nHost: [::1]:80\r\nTransfer-Encoding: chunked\r\n"
        b"Expect: 100-continue\r\nAuthorization: Bearer t\r\n\r\n2;a=b\r\n{}\r\n0\r\nA: b\r\n\r\n"
    ),
    (
        b"GET http://localhost:80/v1/explanations?a=%41#b HTTP/1.0\r\n"
        b"traceparent: 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01\r\n\r\n"
    ),
)
_MODELS = Path(__file__).parents[1] / "models"
_MODEL_NAMES = (
    *("half", "two_outputs", "batch_of_one_inside", "sklearn_linear", "sklearn_columns_error"),
    *("sklearn_tree_int64", "sklearn_network_3class", "sklearn_logistic_binary_double"),
    *("sklearn_one_versus_rest", "sklearn_random_forest_3class", "xgboost_binary"),
)


def corpus() -> Mapping[str, list[bytes]]:
    """Return what each target reads well."""
    texts = [json.dumps(document).encode() for document in _DOCUMENTS]
    found = {name: [b""] for name in TARGETS}
    found["canonical_json"] += texts
    found["rest_json"] += texts
    found["rest_files"] += [b"{}\na,b\n1,2\n"]
    found["message"] += [
        rest_request.from_json(text, ExplainRequest).SerializeToString() for text in texts
    ]
    found["split_message"] += found["message"]
    found["rest_form"] += [
        b"--b\r\nContent-Disposition: form-data; name=table; filename=t.csv\r\n\r\na\r\n--b--\r\n"
    ]
    found["csv"] += [b"a,city\n1,x\n2.5,\n", b'a,"b\nc"\n2020-01-01,"x,y"\n']
    found["arrow"] += list(_files())
    found["parquet"] += [_parquet()]
    found["expression"] += [b"a > 1", b"not (city == 'Bern') and a * 2 - 3 <= 1e5", b"missing(a)"]
    for name, seeds in REMOTE_SEEDS.items():
        found[name] += seeds
    found["worker"] += [
        payloads.pack_entries({"a": b"1"}),
        payloads.pack_values([b"x", None]),
        payloads.pack_progress(1, 2),
        payloads.pack_error(ExplainError(Reason.INVALID_TABLE, "why", "table")),
        payloads.pack_spans([Span("method", 1.0, 2.0, {"method": "firm", "error": "INTERNAL"})]),
    ]
    found["seal"] += [
        Signer(b"another secret").sign("name", b"value"),
        struct.pack("<4sB", b"ONXS", 1),
    ]
    found["http"] += list(_HEADS)
    found["model"] += [(_MODELS / f"{name}.onnx").read_bytes() for name in _MODEL_NAMES]
    for target, seeds in _of_other_modules().items():
        found[target] += seeds
    return found


def _of_other_modules() -> dict[str, list[bytes]]:
    return {**credential_seeds.corpus(), **remote_targets.corpus(), **_operations()}


def _operations() -> dict[str, list[bytes]]:
    head = b"token\n1\ncreated\n5\nexpires\n9\nattempts\n1\ncrashes\n0\nnumber\n4\nstate\n"
    tail = b"\nstarted\n6\nended\n7\ndone\n1e3\nplanned\n2\nresponse_bytes\n8\nerror\nx"
    records = [head + b"pending", head + b"succeeded" + tail]
    beyond_all_floats = records[0].replace(b"5", b"9" * 400)
    return {"page_token": [b"123"], "operation_record": [*records, beyond_all_floats]}


def _files() -> Iterator[bytes]:
    for new in (pyarrow.ipc.new_stream, pyarrow.ipc.new_file):
        sink = io.BytesIO()
        with new(sink, _ROWS.schema) as writer:
            writer.write_table(_ROWS)
        yield sink.getvalue()


def _parquet() -> bytes:
    sink = io.BytesIO()
    pyarrow.parquet.write_table(_ROWS, sink)
    return sink.getvalue()


if __name__ == "__main__":
    for name, seeds in corpus().items():
        folder = Path(sys.argv[1]) / name
        folder.mkdir(parents=True, exist_ok=True)
        for number, seed in enumerate(seeds):
            (folder / f"seed-{number}").write_bytes(seed)
