"""Lightness of a server: its server process loads no library that computes or draws."""

from __future__ import annotations

import json
import re
from base64 import b64encode
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import onnxplain
import pytest

HEAVY = {
    *("llvmlite", "numba", "numpy", "onnx", "onnxruntime", "pandas", "pyarrow", "scipy", "sklearn"),
    *("IPython", "matplotlib", "rich", "vl_convert"),
    *("cryptography", "jwt", "opentelemetry", "redis"),  # where settings ask for them
}
CASE = Path(__file__).parents[1] / "golden" / "hstats" / "case_friedman1_gbr"
MODEL, TABLE = CASE / "model.onnx", CASE / "data.csv"
ASKED = {
    "methods": [{"partialDependence": {"features": [{"names": ["x1"]}]}}],
    "targetColumn": "y",
}

# As `python -X importtime` writes it: "import time:  self [us] | cumulative | name".
IMPORTED = re.compile(r"import time: +\d+ \| +\d+ \| +([\w.]+)$", re.MULTILINE)


def packages(names: Iterable[str]) -> set[str]:
    return {name.partition(".")[0] for name in names}


def mapped(pid: int) -> set[str]:
    """Packages of which a process has mapped a compiled module or a library beside it."""
    maps = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8")
    return set(re.findall(r"/site-packages/(\w+?)(?:\.libs)?/", maps))


def post(url: str, body: bytes, content_type: str) -> dict[str, Any]:
    request = Request(  # noqa: S310 - our own server
        f"{url}/v1/explanations", body, {"Content-Type": content_type}
    )
    with urlopen(request, timeout=600) as reply:  # noqa: S310 - likewise
        return dict(json.load(reply))


def explain_on_all_surfaces(server: Any) -> None:
    with onnxplain.connect(server.endpoint) as client:
        method = onnxplain.PartialDependence(features=["x1"])
        assert client.explain(MODEL, TABLE, method, target_column="y").partial_dependence.curves
    header, *rows = [line.split(",") for line in TABLE.read_text(encoding="utf-8").splitlines()]

    question = {
        "model": {"content": b64encode(MODEL.read_bytes()).decode()},
        "dataframe_split": {"columns": header, "data": [[float(x) for x in row] for row in rows]},
        **ASKED,
    }
    assert post(server.url, json.dumps(question).encode(), "application/json")["explanations"]
    files = {"model": MODEL, "table": TABLE}
    parts = [(name, path.name, path.read_bytes()) for name, path in files.items()]
    body = b"".join(
        b'--b\r\nContent-Disposition: form-data; name="%b"; filename="%b"\r\n\r\n%b\r\n'
        % (name.encode(), file.encode(), content)
        for name, file, content in [*parts, ("request", "", json.dumps(ASKED).encode())]
    )
    form = "multipart/form-data; boundary=b"
    assert post(server.url, body + b"--b--\r\n", form)["explanations"]


@pytest.mark.slow
def test_a_server_process_is_small_and_imports_no_library_that_computes_or_draws(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Python tells each import; its workers, which have an environment of their own, tell none."""
    monkeypatch.setenv("PYTHONPROFILEIMPORTTIME", "1")
    server = serve()

    check_that_it_takes_little_memory(server)
    explain_on_all_surfaces(server)

    imported = packages(IMPORTED.findall("".join(server.log)))
    assert {"grpc", "onnxplain_server"} <= imported
    assert imported & HEAVY == set()
    assert mapped(server.process.pid) & HEAVY == set()
    assert {"numpy", "onnxruntime"} <= set().union(*map(mapped, server.workers()))


def check_that_it_takes_little_memory(server: Any) -> None:
    """Whereas a test of the image measures all processes, as those of a checkout compile code."""
    rollup = Path(f"/proc/{server.process.pid}/smaps_rollup").read_text(encoding="utf-8")
    size = re.search(r"^Pss:\s+(\d+) kB", rollup, re.MULTILINE)

    assert size is not None
    assert int(size[1]) < 71 * 1024
