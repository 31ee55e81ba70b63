"""Speed of the page in Chromium: its first view on a narrow line, and clicks among many features.

python -m bench.page.speed    # needs chromium and `make client-web`; writes docs/page.md
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from bench.server.server_process import served

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "page.md"
BEGIN, END = "<!-- By `python -m bench.page.speed` -->\n", "<!-- End of the speed -->\n"
FEATURES, ROWS = 200, 400
SHORTEST_MS = 16
"""Chromium tells no shorter events."""


def main() -> None:
    """Measure, print, and write the page."""
    with tempfile.TemporaryDirectory() as folder, served() as server:
        model, table = _files(Path(folder))
        found = _measured(f"http://127.0.0.1:{server.rest_port}/", model, table)
    text = "\n".join(["", *_lines(found), ""])
    print(text)
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}{text}\n{END}{after}", encoding="utf-8")


def _measured(address: str, model: Path, table: Path) -> Mapping[str, Any]:
    node = ROOT / ".venv-proto" / "bin"
    done = subprocess.run(
        [str(node / "node"), "bench/speed.mjs", address, str(model), str(table)],
        cwd=ROOT / "clients" / "web",
        env=os.environ | {"PATH": f"{node}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        check=True,
    )
    found: Mapping[str, Any] = json.loads(done.stdout)
    return found


def _lines(found: Mapping[str, Any]) -> Iterator[str]:
    views = found["views"]
    view = statistics.median(view["milliseconds"] for view in views)
    empty = _worst(found["empty"])
    yield "| What | Figure |"
    yield "|---|--:|"
    yield f"| bytes of the first view | {max(view['bytes'] for view in views) / 1000:.0f} kB |"
    yield f"| from the server's answer to the first view, median of {len(views)} | {view:.0f} ms |"
    yield f"| a click on an empty page, longest of {len(found['empty'])} | {_spell(empty)} |"
    for name, times in found["clicks"]["found"].items():
        middle, worst = _middle(times), _worst(times)
        ratio = middle / max(empty, SHORTEST_MS)
        yield (
            f"| {name}, median of {len(times)} (longest) | "
            f"{_spell(middle)} ({_spell(worst)}), {ratio:.1f} times the empty page's |"
        )


def _middle(times: Sequence[Mapping[str, float]]) -> float:
    return max(SHORTEST_MS, statistics.median(each["event"] for each in times))


def _worst(times: Sequence[Mapping[str, float]]) -> float:
    return max(SHORTEST_MS, *(each["event"] for each in times))


def _spell(milliseconds: float) -> str:
    return f"at most {SHORTEST_MS} ms" if milliseconds <= SHORTEST_MS else f"{milliseconds:.0f} ms"


def _files(folder: Path) -> tuple[Path, Path]:
    """Write a linear model and rows for it, whose last column is the target."""
    random = np.random.default_rng(0)
    weights = random.normal(size=(FEATURES, 1)).astype(np.float32)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["rows", "weights"], ["prediction"])],
        "linear",
        [helper.make_tensor_value_info("rows", TensorProto.FLOAT, [None, FEATURES])],
        [helper.make_tensor_value_info("prediction", TensorProto.FLOAT, [None, 1])],
        [numpy_helper.from_array(weights, "weights")],
    )
    opset = [helper.make_opsetid("", 17)]
    onnx.save(helper.make_model(graph, opset_imports=opset, ir_version=9), folder / "wide.onnx")
    rows = random.normal(size=(ROWS, FEATURES))
    target = rows @ weights + random.normal(size=(ROWS, 1))
    head = ",".join([*(f"measurement_{k:03d}" for k in range(FEATURES)), "target"])
    np.savetxt(
        folder / "wide.csv", np.hstack([rows, target]), "%.4f", ",", header=head, comments=""
    )
    return folder / "wide.onnx", folder / "wide.csv"


if __name__ == "__main__":
    main()
