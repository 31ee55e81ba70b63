"""The command line as a runner; see README.md."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

_FAILURE = re.compile(r"onnxplain: error: (.*) \(([A-Z_]+)\)")


def answer(root: Path, case: Mapping[str, Any]) -> dict[str, Any]:
    """Ask one case."""
    match case["call"]:
        case "describe":
            return _run(["describe", str(root / case["model"])])
        case "describe_table" | "predict" | "check" if not _is_shown_otherwise(case):
            with tempfile.TemporaryDirectory() as folder:
                return _run(_about_rows(root, case, Path(folder)))
        case "explain" if case.get("model", "").endswith("external.onnx"):
            return {"unsupported": "the command reads itself what lies beside a model"}
        case "explain" if "id" not in case["request"].get("model", {}):
            with tempfile.TemporaryDirectory() as folder:
                return _run(_explain(root, case, Path(folder)))
        case _:
            return {"unsupported": "the command sends files whole, and shows progress to people"}


_FLAGS = {
    "featureColumns": "--feature-columns",
    "outputs": "--outputs",
    "prediction": "--prediction",
    "near": "--near",
    "rowIndices": "--rows",
    "rowCount": "--row-count",
    "targetColumn": "--target-column",
    "expectedPredictionColumns": "--expected-prediction-columns",
}


def _is_shown_otherwise(case: Mapping[str, Any]) -> bool:
    """Whether the command calls a field by its flag."""
    return case["expected"].get("error", {}).get("field") in {"row_indices", "near"}


def _about_rows(root: Path, case: Mapping[str, Any], folder: Path) -> Sequence[str]:
    words = [{"describe_table": "describe"}.get(case["call"], case["call"])]
    words += [str(root / case["model"])] if "model" in case else []
    is_memory = "columns" in case
    words.append(
        _table(case["columns"], folder / "table.csv") if is_memory else str(root / case["table"])
    )
    for name, value in case["request"].items():
        words += [word for each in _values(name, value) for word in (_FLAGS[name], each)]
    return words


def _values(name: str, value: Any) -> Sequence[str]:
    """Return the values of a flag."""
    if name == "near":
        return [
            f"{each['name']}={(each.get('numbers') or each['strings'])[0]}"
            for each in value["columns"]
        ]
    if name == "prediction":
        return list(value)
    return [",".join(map(str, value)) if isinstance(value, list) else str(value)]


def _explain(root: Path, case: Mapping[str, Any], folder: Path) -> Sequence[str]:
    request = folder / "request.json"
    request.write_text(json.dumps(case["request"]))
    words = ["explain", *([str(root / case["model"])] if "model" in case else [])]
    if "columns" in case:
        words.append(_table(case["columns"], folder / "table.csv"))
    elif "table" in case:
        words.append(str(root / case["table"]))
    words += ["--request", str(request), "--verbose"]
    if "timeout_seconds" in case:
        words += ["--timeout", str(case["timeout_seconds"])]
    return words


def _table(columns: Mapping[str, Any], file: Path) -> str:
    with file.open("w", newline="") as text:
        writer = csv.writer(text)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return str(file)


def _run(words: Sequence[str]) -> dict[str, Any]:
    command = [sys.executable, "-m", "onnxplain_server", *words]
    done = subprocess.run(
        [*command, "--endpoint", os.environ["ONNXPLAIN_ENDPOINT"]],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode == 0 or done.stdout:  # a check that finds differences writes and fails
        return {"response": json.loads(done.stdout)}
    last = done.stderr.strip().splitlines()[-1]
    found = _FAILURE.fullmatch(last)
    assert found is not None, done.stderr
    # A file or flag stands in front, unless the message names it.
    place, colon, text = found[1].partition(": ")
    is_place = place.startswith("--") or place in {Path(word).name for word in words}
    message = text if colon and is_place else found[1]
    return {"error": {"message": message, "reason": found[2]}}


def main() -> None:
    """Ask all named cases."""
    root, out = map(Path, sys.argv[1:3])
    for name in sys.argv[3:]:
        case = json.loads((root / "conformance" / "cases" / f"{name}.json").read_text())
        (out / f"{name}.json").write_text(json.dumps(answer(root, case)))


if __name__ == "__main__":
    main()
