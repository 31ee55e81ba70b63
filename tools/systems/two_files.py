"""Explains a network of 0.3 GB in one piece and in two files, and tells seconds and memory.

Usage: python -m tools.systems.two_files [MEGABYTES]

By commands, in Python, and at a server over gRPC and REST. Numbers, digests and cached effects have
to be the same. Memory is also told in copies of the model: its peak by the model's bytes. The table
goes into docs/systems.md where no other size is named.
"""

from __future__ import annotations

import base64
import hashlib
import http.client
import json
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import onnx
import onnxplain
import psutil
from onnx import TensorProto, helper

from bench.server.server_process import Server, served
from tools import figures
from tools.systems.page import write_table

COLUMNS = (
    *("Surface", "asking, one piece", "asking, two files"),
    *("server's largest process, one piece", "server's largest process, two files"),
)
ROOMS = ("adapters", "transport", "wire")
MEGABYTES = 300

_WIDTH, _FEATURES, _ROWS = 5_000, 8, 20
_LAYER_BYTES = 4 * _WIDTH**2
_NAMES = [f"c{j}" for j in range(_FEATURES)]
_ASKED: dict[str, Any] = {"features": [["c0"]], "grid_size": 3}
_BOUNDARY = "part-of-the-network"
_PART_BYTES = 2**20
_LOOK_SECONDS = 0.05
_SERVER = {
    **dict.fromkeys(("upload_bytes", "waiting_bytes", "unread_disk_bytes"), "4GiB"),
    **dict.fromkeys(("max_load_seconds", "max_seconds"), 600),
    "max_model_bytes": "2000MiB",
    "worker_bytes": "12GiB",
    "running_count": 1,
    "isolation": "available",
}


@dataclass(frozen=True, slots=True)
class Answer:
    """What one surface answered to one form of the network.

    Attributes
    ----------
    seconds : float
        Of processor time of the process that asked.
    megabytes, server_megabytes : float
        Peak memory of the process that asked, and of the server's largest process; 0 without one.
    values : list of float
        Of the curve.
    digest : str
    predicted_row_count : float
    """

    seconds: float
    megabytes: float
    values: list[float]
    digest: str
    predicted_row_count: float
    server_megabytes: float = 0.0


def write_network(folder: Path, megabytes: int) -> tuple[Path, Path]:
    """Write a network in one piece, and in two files of a folder; return both paths."""
    whole, cut = folder / "whole/network.onnx", folder / "cut/network.onnx"
    for path in (whole, cut):
        path.parent.mkdir()
    model = _network(max(1, round(megabytes * 1e6 / _LAYER_BYTES)))
    whole.write_bytes(model.SerializeToString())
    start = 0
    with cut.with_suffix(".onnx.data").open("wb") as values:
        for tensor in model.graph.initializer:
            size = values.write(tensor.raw_data)
            tensor.ClearField("raw_data")
            tensor.data_location = TensorProto.EXTERNAL
            places = (("location", "network.onnx.data"), ("offset", start), ("length", size))
            for key, value in places:
                tensor.external_data.add(key=key, value=str(value))
            start += size
    cut.write_bytes(model.SerializeToString())
    return whole, cut


def _network(layer_count: int) -> onnx.ModelProto:
    random = np.random.default_rng(1)
    widths = [_FEATURES, *[_WIDTH] * (layer_count + 1), 1]
    tensors, nodes, last = [], [], "x"
    for number, (rows, columns) in enumerate(pairwise(widths)):
        values = random.standard_normal((rows, columns), np.float32)
        values /= np.float32(rows**0.5)
        name, out = f"w{number}", f"h{number}"
        shape = [rows, columns]
        tensors.append(
            helper.make_tensor(name, TensorProto.FLOAT, shape, values.tobytes(), raw=True)
        )
        nodes += [
            helper.make_node("MatMul", [last, name], [f"{out}_sums"]),
            helper.make_node("Tanh", [f"{out}_sums"], [out]),
        ]
        last = out
    nodes.append(helper.make_node("Identity", [last], ["y"]))
    inputs = [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", _FEATURES])]
    outputs = [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1])]
    graph = helper.make_graph(nodes, "network", inputs, outputs, tensors)
    return helper.make_model(graph, ir_version=9, opset_imports=[helper.make_opsetid("", 17)])


def write_table_of_rows(folder: Path) -> Path:
    """Write the rows on which it is explained."""
    rows = np.random.default_rng(2).standard_normal((_ROWS, _FEATURES))
    path = folder / "rows.csv"
    np.savetxt(path, rows, "%.4f", ",", header=",".join(_NAMES), comments="")
    return path


def by_command(model: Path, table: Path) -> Answer:
    """Ask the command line, in a process of its own."""
    return _in_a_process("command", model, table)


def by_python(model: Path, table: Path) -> Answer:
    """Ask `onnxplain.local()`, in a process of its own."""
    return _in_a_process("python", model, table)


def _in_a_process(how: str, *arguments: object) -> Answer:
    command = [sys.executable, "-m", "tools.systems.two_files", "--ask", how, *map(str, arguments)]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE)  # noqa: S603 - this program
    return Answer(**json.loads(done.stdout.splitlines()[-1]))


def _ask(how: str, *arguments: str) -> None:
    """Ask in this process, and print the answer with the peak of its memory."""
    surfaces: dict[str, Callable[..., Any]] = {
        "command": _command,
        "python": _python,
        "grpc": _grpc,
        "rest": _rest,
    }
    answer = surfaces[how](*arguments)
    receipt = answer["receipt"]
    (curve,) = answer["explanations"][0]["partialDependence"]["curves"]
    found = {
        "seconds": time.process_time(),
        "megabytes": _peak_megabytes(psutil.Process()),
        "values": curve["values"],
        "digest": receipt["modelDigest"],
        "predicted_row_count": receipt.get("predictedRowCount", 0.0),
    }
    sys.stdout.write(f"{json.dumps(found)}\n")


def _command(model: str, table: str) -> Any:
    from onnxplain_server.__main__ import main  # noqa: PLC0415 - is measured

    answer = Path(table).with_name("answer.json")
    settings = [f"--set={key}={json.dumps(value)}" for key, value in _ASKED.items()]
    method = ["--method", "partial_dependence", *settings, "--no-plots"]
    columns = ["--feature-columns", ",".join(_NAMES)]
    sys.argv = [
        "onnxplain",
        "explain",
        model,
        table,
        *method,
        *columns,
        "--output-file",
        str(answer),
    ]
    try:
        main()
    except SystemExit as ended:
        if ended.code:
            raise
    return json.loads(answer.read_text(encoding="utf-8"))


def _python(model: str, table: str) -> Any:
    with onnxplain.local() as client:
        return _explained(client, model, table)


def _grpc(endpoint: str, model: str, table: str) -> Any:
    with onnxplain.connect(endpoint, timeout=600) as client:
        return _explained(client, model, table)


def _explained(client: onnxplain.Client, model: str, table: str) -> Any:
    asked = onnxplain.PartialDependence(features=["c0"], grid_size=3)
    found = client.explain(Path(model), Path(table), asked, feature_columns=_NAMES, plots=False)
    return json.loads(found.to_json())


def _rest(port: str, model: str, table: str) -> Any:
    """Upload the files as a form, and ask for the explanation."""
    parts = [("model", Path(model).name, Path(model))]
    values = Path(f"{model}.data")
    if values.exists():
        parts.append(("model_files", values.name, values))
    connection = http.client.HTTPConnection("127.0.0.1", int(port), timeout=600)
    form = {"Content-Type": f"multipart/form-data; boundary={_BOUNDARY}"}
    size = sum(len(part) for part in _form(parts))
    headers = {**form, "Content-Length": str(size)}
    connection.request("PUT", "/v1/models", _form(parts), headers)
    uploaded = json.loads(connection.getresponse().read())
    rows = base64.b64encode(Path(table).read_bytes()).decode()
    request = {
        "model": {"id": uploaded["id"]},
        "table": {"csv": rows},
        "featureColumns": _NAMES,
        "plots": False,
        "methods": [{"partialDependence": {"features": [{"names": ["c0"]}], "gridSize": 3}}],
    }
    json_headers = {"Content-Type": "application/json"}
    connection.request("POST", "/v1/explanations", json.dumps(request), json_headers)
    return json.loads(connection.getresponse().read())


def _form(parts: list[tuple[str, str, Path]]) -> Iterator[bytes]:
    for name, file, path in parts:
        head = f'Content-Disposition: form-data; name="{name}"; filename="{file}"'
        yield f"--{_BOUNDARY}\r\n{head}\r\n\r\n".encode()
        with path.open("rb") as opened:
            yield from _blocks(opened)
        yield b"\r\n"
    yield f"--{_BOUNDARY}--\r\n".encode()


def _blocks(opened: BinaryIO) -> Iterator[bytes]:
    while block := opened.read(_PART_BYTES):
        yield block


def by_server(how: str, model: Path, table: Path) -> Answer:
    """Ask a server of its own."""
    with served(**_SERVER) as server:
        return _at_server(server, how, model, table)


def _at_server(server: Server, how: str, model: Path, table: Path) -> Answer:
    place = server.endpoint if how == "grpc" else server.rest_port
    peaks, is_over = [0.0], threading.Event()

    def watch() -> None:
        """Look at all processes: one that ends takes its peak with it."""
        serving = psutil.Process(server.pid)
        while not is_over.wait(_LOOK_SECONDS):
            with suppress(psutil.Error, OSError, ValueError, IndexError):
                processes = [serving, *serving.children(recursive=True)]
                peaks.append(max(map(_peak_megabytes, processes)))

    watching = threading.Thread(target=watch)
    watching.start()
    answer = _in_a_process(how, place, model, table)
    is_over.set()
    watching.join()
    return Answer(**{**asdict(answer), "server_megabytes": max(peaks)})


def _peak_megabytes(process: psutil.Process) -> float:
    status = Path(f"/proc/{process.pid}/status").read_text(encoding="utf-8")
    return float(status.partition("VmHWM:")[2].split()[0]) * 1_024 / 1e6


def check_caches(whole: Path, cut: Path, table: Path) -> None:
    """Check that what was computed for one form is found for the other, in Python and at a server.

    Raises
    ------
    RuntimeError
    """
    with (
        onnxplain.local() as own,
        served(**_SERVER) as server,
        onnxplain.connect(server.endpoint, timeout=600) as other,
    ):
        for client in (own, other):
            first, second = (_explained(client, str(path), str(table)) for path in (whole, cut))
            if not first["receipt"]["predictedRowCount"]:
                raise RuntimeError("the first answer predicted no row")
            if second["receipt"].get("predictedRowCount", 0.0):
                raise RuntimeError("the second answer was not found in the cache")


def _row(surface: str, ask: Callable[[Path, Path], Answer], *files: Path) -> tuple[str, ...]:
    """Ask for both forms, compare them, and return the row of the table."""
    *models, table = files
    of_one, of_two = (ask(model, table) for model in models)
    content = hashlib.sha256(models[0].read_bytes()).hexdigest()
    size = models[0].stat().st_size / 1e6
    if of_one.values != of_two.values or {of_one.digest, of_two.digest} != {f"sha256:{content}"}:
        raise RuntimeError(f"{surface}: the two files are another model: {of_one} {of_two}")
    both = (of_one, of_two)
    asking = [f"{each.seconds:.0f} s, {_told(each.megabytes, size)}" for each in both]
    serving = [_told(each.server_megabytes, size) for each in both]
    return surface, *asking, *serving


def _told(megabytes: float, model_megabytes: float) -> str:
    """Return a peak of memory, and how many copies of the model it would hold."""
    if not megabytes:
        return ""
    return f"{megabytes:,.0f} MB ({megabytes / model_megabytes:.1f})"


def main() -> None:
    """Write the network, ask everywhere, and write the table."""
    if sys.argv[1:2] == ["--ask"]:
        _ask(*sys.argv[2:])
        return
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else MEGABYTES
    surfaces: dict[str, Callable[[Path, Path], Answer]] = {
        "command line": by_command,
        "Python, `local()`": by_python,
        "Python client over gRPC": lambda *files: by_server("grpc", *files),
        "REST": lambda *files: by_server("rest", *files),
    }
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole, cut = write_network(folder, megabytes)
        table = write_table_of_rows(folder)
        rows = []
        for surface, ask in surfaces.items():
            rows.append(_row(surface, ask, whole, cut, table))
            sys.stdout.write(f"{' · '.join(rows[-1])}\n")
            sys.stdout.flush()
        check_caches(whole, cut, table)
        sys.stdout.write("what was computed for one form was found for the other\n")
    if megabytes == MEGABYTES:
        write_table("two files", COLUMNS, rows, figures.stamp(ROOMS))


if __name__ == "__main__":
    main()
