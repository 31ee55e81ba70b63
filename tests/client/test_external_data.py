"""Models in two files: one model, however it is cut, and no other folder is read."""

from __future__ import annotations

import os
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import onnx
import onnxplain
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxplain.external_data.folder import read_model
from onnxplain.external_data.given_files import with_files
from onnxplain_server.__main__ import _cache, _runner
from onnxplain_server.cli import ServiceParts, app
from typer.testing import CliRunner

PARTS = ServiceParts(_runner, _cache, serve=lambda _flags, _began: None)
WEIGHTS = np.arange(6, dtype=np.float32).reshape(3, 2)


def model() -> onnx.ModelProto:
    """A linear model, whose weights are an initializer, and one in a subgraph."""
    inner = helper.make_graph(
        [helper.make_node("Constant", [], ["z"], value=numpy_helper.from_array(WEIGHTS[0], "c"))],
        "inner",
        [],
        [helper.make_tensor_value_info("z", TensorProto.FLOAT, [2])],
    )
    nodes = [
        helper.make_node("MatMul", ["x", "w"], ["h"]),
        helper.make_node("If", ["yes"], ["b"], then_branch=inner, else_branch=inner),
        helper.make_node("Add", ["h", "b"], ["y"]),
    ]
    graph = helper.make_graph(
        nodes,
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 2])],
        [numpy_helper.from_array(WEIGHTS, "w"), numpy_helper.from_array(np.array(True), "yes")],
    )
    graph.initializer[0].doc_string = "a field behind the values"
    opset = [helper.make_opsetid("", 17)]
    return helper.make_model(graph, ir_version=9, opset_imports=opset)


@pytest.fixture
def whole() -> bytes:
    return model().SerializeToString()


def cut(folder: Path, *, convert_attribute: bool = False) -> Path:
    path = folder / "model.onnx"
    onnx.save(
        model(),
        path,
        save_as_external_data=True,
        location="model.onnx.data",
        size_threshold=0,
        convert_attribute=convert_attribute,
    )
    return path


@pytest.mark.parametrize("attributes", [False, True])
def test_it_is_the_model_in_one_piece(tmp_path: Path, whole: bytes, attributes: bool) -> None:
    path = cut(tmp_path, convert_attribute=attributes)

    assert path.read_bytes() != whole
    assert read_model(path) == whole


def test_it_is_explained_as_the_model_in_one_piece(tmp_path: Path, whole: bytes) -> None:
    rows = {f"c{j}": [float((i * (j + 3)) % 7) for i in range(20)] for j in range(3)}
    with onnxplain.local() as client:
        asked = onnxplain.PartialDependence(features=["c0"])
        cut_in_two, in_one = (
            client.explain(each, rows, asked, feature_columns=list(rows))
            for each in (cut(tmp_path), whole)
        )

    curves = [each.partial_dependence.curves[0].values for each in (cut_in_two, in_one)]
    np.testing.assert_array_equal(curves[0], curves[1])
    assert cut_in_two.receipt.model_digest == in_one.receipt.model_digest


def test_a_command_reads_it_too(tmp_path: Path, whole: bytes) -> None:
    (tmp_path / "whole.onnx").write_bytes(whole)
    described = [
        CliRunner().invoke(app, ["describe", str(path)], obj=PARTS).stdout
        for path in (cut(tmp_path), tmp_path / "whole.onnx")
    ]

    assert described[0] == described[1]
    assert '"digest"' in described[0]


def edited(folder: Path, **entries: str | None) -> Path:
    """A model in two files whose tensor `w` tells something else of its file."""
    path = cut(folder)
    proto = onnx.load(path, load_external_data=False)
    tensor = next(each for each in proto.graph.initializer if each.name == "w")
    kept = {each.key: each.value for each in tensor.external_data} | entries
    del tensor.external_data[:]
    for key, value in kept.items():
        if value is not None:
            tensor.external_data.add(key=key, value=value)
    path.write_bytes(proto.SerializeToString())
    return path


NAMED = {
    "parent": "../secret",
    "parent within": "a/../../secret",
    "parent of windows": "..\\secret",
    "parent in both ways": "a\\..\\../secret",
    "absolute": "/etc/passwd",
    "absolute by two slashes": "//etc/passwd",
    "root of windows": "\\secret",
    "drive": "C:\\secret",
    "drive without root": "C:secret",
    "share": "\\\\host\\secret",
    "device of windows": "\\\\.\\PhysicalDrive0",
    "path of windows without rules": "\\\\?\\C:\\secret",
    "address": "file:///etc/passwd",
    "stream of windows": "model.onnx.data:hidden",
    "stream of windows by its type": "model.onnx.data::$DATA",
    "empty": "",
    "folder": ".",
    "parent alone": "..",
    "nul": "model.onnx.data\0",
    "nul within": "secret\0.data",
    "line break": "model.onnx.data\n",
    "hidden direction": "\u202emodel.onnx.data",
}
"""Names that no folder of a model has."""

FOUND = {
    "missing": "other.data",
    "other case": "MODEL.ONNX.DATA",
    "encoded parent": "%2e%2e/secret",
    "encoded slash": "..%2fsecret",
    "encoded twice": "%252e%252e%252fsecret",
    "full-width dots": "\uff0e\uff0e/secret",
    "home": "~/secret",
    "variable": "$HOME/secret",
    "variable of windows": "%USERPROFILE%\\secret",
    "too long": "x" * 5_000,
    "below a file": "model.onnx.data/secret",
    "folder within": "folder",
    "link": "link",
    "link of a folder": "up/secret",
    "link to itself": "loop",
    "device": "device",
    "pipe": "pipe",
}
"""Names of nothing, or of what is no file within the folder."""

HOSTILE: dict[str, dict[str, str | None]] = {
    **{name: {"location": value} for name, value in (NAMED | FOUND).items()},
    "none": {"location": None},
    "negative offset": {"offset": "-1"},
    "offset beyond": {"offset": "1000000"},
    "offset at the end": {"offset": "25", "length": "24"},
    "offset of words": {"offset": "0x10"},
    "offset with a sign": {"offset": "+0"},
    "offset with spaces": {"offset": " 0 "},
    "offset with marks": {"offset": "1_0"},
    "offset of a fraction": {"offset": "0.0"},
    "length beyond": {"length": "1000000000000"},
    "length of another shape": {"length": "20"},
    "no length": {"length": "0"},
    "negative length": {"length": "-24"},
    "other digits": {"length": "२४"},
    "offset of 30 digits": {"offset": "9" * 30},
    "length of 64 bits": {"length": str(2**64 + 24)},
    "end of 64 bits": {"offset": str(10**18 - 1), "length": "24"},
}


@pytest.mark.parametrize("entries", HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_pair_is_refused(tmp_path: Path, entries: dict[str, str | None]) -> None:
    folder = tmp_path / "models"
    folder.mkdir()
    (tmp_path / "secret").write_bytes(WEIGHTS.tobytes())
    for name in ("..\\secret", "C:\\secret", "C:secret", "model.onnx.data:hidden"):
        (folder / name).write_bytes(WEIGHTS.tobytes())
    path = edited(folder, **entries)
    (folder / "folder").mkdir()
    (folder / "link").symlink_to(tmp_path / "secret")
    (folder / "up").symlink_to(tmp_path)
    (folder / "loop").symlink_to("loop")
    (folder / "device").symlink_to("/dev/zero")
    os.mkfifo(folder / "pipe")

    with pytest.raises(onnxplain.ExplainError) as refused:
        read_model(path)

    assert refused.value.reason == "EXTERNAL_DATA"


@pytest.mark.parametrize("name", NAMED.values(), ids=NAMED)
def test_files_that_came_have_no_such_names(tmp_path: Path, name: str) -> None:
    content = edited(tmp_path, location=name).read_bytes()
    values = (tmp_path / "model.onnx.data").read_bytes()

    with pytest.raises(onnxplain.ExplainError) as refused:
        with_files(content, [(name, values), ("model.onnx.data", values)])

    assert refused.value.reason == "EXTERNAL_DATA"


def test_a_tensor_names_one_file(tmp_path: Path) -> None:
    path = edited(tmp_path)
    proto = onnx.load(path, load_external_data=False)
    proto.graph.initializer[0].external_data.add(key="location", value="other.data")
    path.write_bytes(proto.SerializeToString())

    with pytest.raises(onnxplain.ExplainError, match="in two ways"):
        read_model(path)


def test_a_missing_file_is_named_with_the_place_where_it_was_looked_for(tmp_path: Path) -> None:
    path = cut(tmp_path)
    (tmp_path / "model.onnx.data").unlink()

    with pytest.raises(onnxplain.ExplainError) as refused:
        read_model(path)

    assert '"model.onnx.data"' in refused.value.message
    assert str(tmp_path) in refused.value.message


@pytest.mark.parametrize("most_bytes", [47, 48])
def test_bytes_that_tensors_share_count_for_each(tmp_path: Path, most_bytes: int) -> None:
    """Else a file of a megabyte would be a model of gigabytes."""
    proto = onnx.load(edited(tmp_path), load_external_data=False)
    shared, again = proto.graph.initializer[0], TensorProto()
    again.CopyFrom(shared)
    again.name = "again"
    del proto.graph.initializer[1:]
    proto.graph.initializer.append(again)
    given = [("model.onnx.data", WEIGHTS.tobytes())]

    with pytest.raises(onnxplain.ExplainError) if most_bytes < 48 else nullcontext() as refused:
        assert len(with_files(proto.SerializeToString(), given, most_bytes)) > 48

    assert refused is None or refused.value.reason == "MODEL_TOO_LARGE"


@pytest.mark.parametrize(
    "content", [b"", b"location", b"\x08\x07location", b"\x3a\xff\x01location"]
)
def test_what_is_no_model_is_left_to_the_service(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "model.onnx").write_bytes(content)

    assert read_model(tmp_path / "model.onnx") == content
