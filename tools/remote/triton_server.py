"""Triton, the server of C++ from the package nvidia-pytriton, with one ONNX model on the processor.

The package has no backend but that of Python, which runs `triton_model.py`.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import onnx

from tools.ports import free_port
from tools.remote.servers import ModelServer, wait_until_ready
from tools.stores.process import running

_HERE = Path(__file__).parent
_INTERPRETER = (
    "import json, sysconfig; print(json.dumps([sysconfig.get_path('purelib'), "
    "sysconfig.get_config_var('LIBDIR'), sysconfig.get_python_version()]))"
)


@contextmanager
def triton(python: str, folder: Path, name: str, model: bytes) -> Iterator[ModelServer]:
    """Serve an ONNX model of tensors without sequences; `folder` is empty."""
    told = subprocess.run([python, "-c", _INTERPRETER], capture_output=True, check=True)  # noqa: S603
    packages, libraries, version = json.loads(told.stdout)
    program = Path(packages) / "pytriton" / "tritonserver"
    backends = _backends(program, version, folder / "backends")
    _write_model(folder / "models" / name, model)
    port, grpc_port = free_port(), free_port()
    variables = {
        "LD_LIBRARY_PATH": f"{libraries}:{Path(packages) / 'nvidia_pytriton.libs'}",
        # Its interpreter takes the environment of the first python3 there.
        "PATH": f"{Path(python).parent}{os.pathsep}{os.environ['PATH']}",
    }
    options = {
        "model-repository": folder / "models",
        "backend-directory": backends,
        "http-address": "127.0.0.1",
        "http-port": port,
        "grpc-address": "127.0.0.1",
        "grpc-port": grpc_port,
        "allow-metrics": "false",
    }
    command = [f"{program}/bin/tritonserver", *(f"--{key}={each}" for key, each in options.items())]
    with running(command, port, folder / "triton.log", variables):
        wait_until_ready(f"http://127.0.0.1:{port}/v2/health/ready")
        yield ModelServer(f"http://127.0.0.1:{port}", f"grpc://127.0.0.1:{grpc_port}", {})


def _backends(program: Path, version: str, folder: Path) -> Path:
    """Put the backend beside its stub for a version of Python, where Triton looks for it."""
    for part in (program / "backends" / "python", program / "python_backend_stubs" / version):
        shutil.copytree(part, folder / "python", dirs_exist_ok=True)
    return folder


def _write_model(folder: Path, model: bytes) -> None:
    """Write a model in the layout of Triton's repositories."""
    version = folder / "1"
    version.mkdir(parents=True)
    (version / "model.onnx").write_bytes(model)
    shutil.copy(_HERE / "triton_model.py", version / "model.py")
    graph = onnx.load_from_string(model).graph
    lines = [
        'backend: "python"',
        f"input [{_tensors(graph.input)}]",
        f"output [{_tensors(graph.output)}]",
        "instance_group [{kind: KIND_CPU}]",
    ]
    (folder / "config.pbtxt").write_text("\n".join(lines), encoding="utf-8")


def _tensors(values: Sequence[onnx.ValueInfoProto]) -> str:
    return ", ".join(map(_tensor, values))


def _tensor(value: onnx.ValueInfoProto) -> str:
    """Return a tensor as `config.pbtxt` describes it; unknown lengths are -1."""
    tensor = value.type.tensor_type
    kind = onnx.helper.tensor_dtype_to_string(tensor.elem_type).removeprefix("TensorProto.")
    kinds = {"FLOAT": "FP32", "DOUBLE": "FP64"}
    lengths = [each.dim_value or -1 for each in tensor.shape.dim]
    return f'{{name: "{value.name}" data_type: TYPE_{kinds.get(kind, kind)} dims: {lengths}}}'
