"""Models in several files over gRPC and REST: inline and uploaded, one model however it is cut."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Sequence

import grpc
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest, ExplainRequest
from onnxplain.v1.model_pb2 import Model, ModelFile
from onnxplain.v1.upload_pb2 import UploadModelRequest

WEIGHTS = np.arange(12, dtype=np.float32).reshape(3, 4)
NAMES = ("model.onnx.data", "weights/b.data")


def model() -> onnx.ModelProto:
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w", "b"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 4])],
        [numpy_helper.from_array(WEIGHTS, "w"), numpy_helper.from_array(WEIGHTS[0], "b")],
    )
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])


WHOLE = model().SerializeToString()


def cut(names: Sequence[str] = NAMES) -> tuple[bytes, list[tuple[str, bytes]]]:
    """The model, with each of its tensors in a file."""
    proto, files = model(), []
    for tensor, name in zip(proto.graph.initializer, names, strict=True):
        files.append((name, tensor.raw_data))
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        tensor.external_data.add(key="location", value=name)
    return proto.SerializeToString(), files


def message(content: bytes, files: Sequence[tuple[str, bytes]]) -> Model:
    return Model(
        content=content, files=[ModelFile(name=name, content=file) for name, file in files]
    )


def form(content: bytes, files: Sequence[tuple[str, bytes]]) -> tuple[bytes, dict[str, str]]:
    """A multipart form with model and files."""
    parts = [("model", "model.onnx", content), *(("model_files", *file) for file in files)]
    body = b"".join(
        f'--b\r\nContent-Disposition: form-data; name="{part}"; filename="{name}"\r\n\r\n'.encode()
        + file
        + b"\r\n"
        for part, name, file in parts
    )
    return body + b"--b--\r\n", {"Content-Type": "multipart/form-data; boundary=b"}


def in_json(content: bytes, files: Sequence[tuple[str, bytes]]) -> dict[str, object]:
    encoded = [{"name": name, "content": base64.b64encode(file).decode()} for name, file in files]
    return {"model": {"content": base64.b64encode(content).decode(), "files": encoded}}


def parts(
    content: bytes, files: Sequence[tuple[str, bytes]], size: int = 7
) -> Iterator[UploadModelRequest]:
    for name, file in (("", content), *files):
        for start in range(0, len(file), size):
            yield UploadModelRequest(content=file[start : start + size], file=name)


def test_it_is_the_model_in_one_piece_on_every_surface(start, make_runner) -> None:
    runner = make_runner()
    client = start(runner)

    client.stub.Explain(ExplainRequest(model=message(*cut())))
    described = client.stub.DescribeModel(DescribeModelRequest(model=message(*cut()))).model.digest
    assert client.post(in_json(*cut())).status == 200
    assert client.rest("POST", "/v1/explanations", *form(*cut())).status == 200
    by_rest = client.rest("POST", "/v1/models:describe", *form(*cut())).json["model"]["digest"]

    assert [request.model.content for request in runner.requests] == [WHOLE] * 3
    assert described == by_rest == f"{len(WHOLE)} bytes"


def test_an_upload_has_the_id_of_the_model_in_one_piece(start, make_runner) -> None:
    client = start(make_runner())
    whole = "sha256:" + hashlib.sha256(WHOLE).hexdigest()

    assert client.stub.UploadModel(parts(*cut())).id == whole
    assert client.rest("PUT", "/v1/models", *form(*cut())).json["id"] == whole
    assert client.rest("GET", f"/v1/models/{whole}").status == 200


def without(index: int) -> tuple[bytes, list[tuple[str, bytes]]]:
    content, files = cut()
    return content, [file for at, file in enumerate(files) if at != index]


def changed(name: str, file: bytes) -> tuple[bytes, list[tuple[str, bytes]]]:
    content, files = cut()
    return content, [*files[1:], (name, file)]


REFUSED = {
    "a missing file": (without(1), "EXTERNAL_DATA", '"weights/b.data", which did not come'),
    "a file that is not named": (
        changed("other", WEIGHTS.tobytes()),
        "EXTERNAL_DATA",
        "model.onnx",
    ),
    "a file cut short": (changed(NAMES[0], b"1234"), "EXTERNAL_DATA", "ends after"),
    "a file too many": (
        (cut()[0], [*cut()[1], ("other", b"1")]),
        "EXTERNAL_DATA",
        'names no file "other"',
    ),
    "a file twice": (
        (cut()[0], [*cut()[1], ("./model.onnx.data", b"1")]),
        "EXTERNAL_DATA",
        "one name",
    ),
    "a way out": (cut(("../model.onnx.data", NAMES[1])), "EXTERNAL_DATA", "in the folder"),
    "files of a model in one piece": ((WHOLE, cut()[1]), "EXTERNAL_DATA", "names no file"),
    "too many files": (
        (cut()[0], [(str(number), b"1") for number in range(1_001)]),
        "INVALID_REQUEST",
        "at most 1,000",
    ),
}


@pytest.mark.parametrize(("given", "reason", "told"), REFUSED.values(), ids=REFUSED)
def test_files_that_do_not_fit_are_refused(start, make_runner, given, reason, told) -> None:
    client = start(make_runner())

    with pytest.raises(grpc.RpcError) as refused:
        client.stub.Explain(ExplainRequest(model=message(*given)))
    by_rest = client.rest("PUT", "/v1/models", *form(*given))

    assert told in refused.value.details()
    assert by_rest.status == 400
    assert reason in json.dumps(by_rest.json) or "parts" in json.dumps(by_rest.json)


@pytest.mark.parametrize(
    "source",
    [{"id": "sha256:" + "0" * 64}, {"uri": "s3://a/b.onnx"}, {}],
    ids=["id", "uri", "none"],
)
def test_files_belong_to_content(start, make_runner, source) -> None:
    client = start(make_runner())
    files = [ModelFile(name="a", content=b"1")]

    with pytest.raises(grpc.RpcError) as refused:
        client.stub.Explain(ExplainRequest(model=Model(files=files, **source)))
    in_rest = {"model": {**source, "files": [{"name": "a", "content": "MQ=="}]}}

    assert "model.files belong to model.content" in refused.value.details()
    assert client.post(in_rest).status == 400


@pytest.mark.parametrize(
    "order", [[("a", b"1"), ("", b"1")], [("", b"1"), ("a", b"1"), ("", b"1")]]
)
def test_parts_of_a_file_follow_each_other(start, make_runner, order) -> None:
    client = start(make_runner())

    with pytest.raises(grpc.RpcError, match="follow each other"):
        client.stub.UploadModel(
            UploadModelRequest(file=name, content=content) for name, content in order
        )
