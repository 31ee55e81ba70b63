"""Models in several files where they lie: put together, known by the versions of all files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxplain.v1.model_pb2 import Model
from onnxplain_server.adapters.sources.cache_lookup import CacheLookup
from onnxplain_server.adapters.sources.fetching import Fetching
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.sources import NoModelCache

LIMIT = 2**20
SECONDS = 5.0

TwoFiles = tuple[Fetching, str]


class Kept(NoModelCache):
    """A cache of models that evicts none."""

    def __init__(self) -> None:
        self._models: dict[str, bytes | bytearray] = {}

    def get(self, version: str) -> Any:
        return self._models.get(version)

    def put(self, version: str, content: bytes | bytearray) -> None:
        self._models[version] = content


def network() -> onnx.ModelProto:
    """A layer of 40 x 40 weights, as many as MLflow and PyTorch put into other files."""
    weights = np.arange(1_600, dtype=np.float32).reshape(40, 40)
    graph = helper.make_graph(
        [helper.make_node("Gemm", ["x", "w", "b"], ["y"])],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 40])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 40])],
        [numpy_helper.from_array(weights, "w"), numpy_helper.from_array(weights[0], "b")],
    )
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])


def refused(in_files: TwoFiles, limit: int = LIMIT) -> ExplainError:
    fetching, uri = in_files
    with pytest.raises(ExplainError) as raised:
        fetching.read_model(Model(uri=uri), limit, SECONDS, lambda _version: False)
    return raised.value


@pytest.fixture
def in_two_files(s3: Any, bucket: str, keys: str, fetching: Any, tmp_path: Path) -> TwoFiles:
    """A model in two files in a bucket: its fetches, its address, and the folder to put from."""
    path = tmp_path / "net.onnx"
    (tmp_path / "w").mkdir()
    onnx.save(network(), path, save_as_external_data=True, location="w/net.data", size_threshold=0)
    for name in ("net.onnx", "w/net.data"):
        s3.put(bucket, f"models/{name}", (tmp_path / name).read_bytes())
    listed = {"prefix": f"s3://{bucket}/models/", "endpoint": s3.url, "credentials_file": keys}
    return fetching(listed), f"s3://{bucket}/models/net.onnx"


def test_a_model_in_two_files_is_read_as_one_piece(in_two_files: TwoFiles) -> None:
    content, receipt = in_two_files[0].read_model(
        Model(uri=in_two_files[1]), LIMIT, SECONDS, lambda _version: False
    )

    assert content == network().SerializeToString()
    names = [source.uri.rpartition("/models/")[2] for source in receipt.sources]
    assert names == ["net.onnx", "w/net.data"]
    assert [source.read_byte_count for source in receipt.sources][1] == 1_640 * 4


def test_values_that_are_replaced_are_another_model(
    in_two_files: TwoFiles, s3: Any, bucket: str
) -> None:
    fetching, uri = in_two_files
    kept = Kept()
    downloaded = []
    for values in (b"\1", b"\1", b"\2"):
        s3.put(bucket, "models/w/net.data", values * 1_640 * 4)
        lookup = CacheLookup(kept)
        content, _ = fetching.read_model(Model(uri=uri), LIMIT, SECONDS, lookup)
        downloaded.append(content is not None)
        assert values * 100 in lookup.completed(content)

    assert downloaded == [True, False, True]


def test_the_limit_counts_all_files(in_two_files: TwoFiles) -> None:
    assert refused(in_two_files, 1_640 * 4).reason is Reason.MODEL_TOO_LARGE


def test_a_missing_file_is_named_with_its_place(
    in_two_files: TwoFiles, s3: Any, bucket: str, tmp_path: Path
) -> None:
    s3.put(bucket, "models/other/net.onnx", (tmp_path / "net.onnx").read_bytes())
    moved = in_two_files[1].replace("net.onnx", "other/net.onnx")

    error = refused((in_two_files[0], moved))

    assert error.reason is Reason.SOURCE_NOT_FOUND
    assert "/models/other/w/net.data" in error.message


def test_what_lies_outside_of_the_folder_is_not_read(
    in_two_files: TwoFiles, s3: Any, bucket: str, tmp_path: Path
) -> None:
    model = onnx.load(tmp_path / "net.onnx", load_external_data=False)
    model.graph.initializer[0].external_data[0].value = "../net.data"
    s3.put(bucket, "models/net.onnx", model.SerializeToString())

    assert refused(in_two_files).reason is Reason.EXTERNAL_DATA


@pytest.mark.slow
def test_a_network_logged_into_mlflow_by_its_defaults(
    mlflow: Any, fetching: Any, tmp_path: Path
) -> None:
    onnx.save(network(), tmp_path / "net.onnx")
    version = mlflow.register("network", tmp_path / "net.onnx")
    registry = fetching({"prefix": "models:/network", "endpoint": mlflow.url})

    content, receipt = registry.read_model(
        Model(uri=f"models:/network/{version}"), LIMIT, SECONDS, lambda _version: False
    )

    assert content == network().SerializeToString()
    assert len(receipt.sources) > 1
    assert all(source.uri == f"models:/network/{version}" for source in receipt.sources)
