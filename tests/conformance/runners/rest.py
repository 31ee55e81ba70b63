"""REST by curl as a runner; see README.md."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

TYPES = {
    ".csv": "text/csv",
    ".parquet": "application/vnd.apache.parquet",
    ".arrow": "application/vnd.apache.arrow.file",
    ".onnx": "application/octet-stream",
}

_ROUTES = {
    "explain": "/v1/explanations",
    "describe_table": "/v1/tables:describe",
    "predict": "/v1/predictions",
    "check": "/v1/models:check",
}


def answer(root: Path, case: Mapping[str, Any]) -> dict[str, Any]:
    """Ask one case."""
    match case["call"]:
        case "explain" | "describe_table" | "predict" | "check":
            return _told(_curl(_ROUTES[case["call"]], *_form(root, case), *_headers(case)))
        case "stream":
            headers = ("-H", "Accept: text/event-stream")
            return _events(_curl("/v1/explanations", *_form(root, case), *headers))
        case "describe":
            return _told(_curl("/v1/models:describe", "-F", f"model=@{root / case['model']}"))
        case "compare":
            return _told(_json("/v1/comparisons", case["request"]))
        case "upload":
            return _uploaded(root, case)
        case _:
            return {"unsupported": "curl leaves by being ended, and gets nothing then"}


def _uploaded(root: Path, case: Mapping[str, Any]) -> dict[str, Any]:
    files = _model_files(root, case)
    ids = {
        "model": _put_form(root, case) if files else _put("/v1/models", root / case["model"]),
        "table": _put("/v1/tables", root / case["table"]),
    }
    request = case["request"] | {kind: {"id": found} for kind, found in ids.items()}
    return {**_told(_json("/v1/explanations", request)), "ids": ids}


def _put(route: str, file: Path) -> str:
    headers = ("-H", f"Content-Type: {TYPES[file.suffix]}")
    return str(json.loads(_curl(route, "-X", "PUT", "--data-binary", f"@{file}", *headers))["id"])


def _put_form(root: Path, case: Mapping[str, Any]) -> str:
    parts = [f"model=@{root / case['model']}", *_model_files(root, case)]
    words = [word for part in parts for word in ("-F", part)]
    return str(json.loads(_curl("/v1/models", "-X", "PUT", *words))["id"])


def _model_files(root: Path, case: Mapping[str, Any]) -> Sequence[str]:
    folder = (root / case["model"]).parent if "model" in case else root
    names = case.get("model_files", ())
    return [f"model_files=@{folder / name};filename={name}" for name in names]


def _json(route: str, request: Mapping[str, Any]) -> bytes:
    headers = ("-H", "Content-Type: application/json")
    return _curl(route, "--data-binary", json.dumps(request), *headers)


def _form(root: Path, case: Mapping[str, Any]) -> Sequence[str]:
    """Files as parts of a form; what is no file is in its JSON."""
    request = dict(case["request"])
    if "columns" in case:
        request["dataframe_split"] = {
            "columns": list(case["columns"]),
            "data": list(zip(*case["columns"].values(), strict=True)),
        }
    parts = [f"request={json.dumps(request)};type=application/json"]
    parts += [f"{kind}=@{root / case[kind]}" for kind in ("model", "table") if kind in case]
    parts += _model_files(root, case)
    return [word for part in parts for word in ("-F", part)]


def _headers(case: Mapping[str, Any]) -> Sequence[str]:
    seconds = case.get("timeout_seconds")
    return () if seconds is None else ("-H", f"X-Request-Timeout-Ms: {round(1000 * seconds)}")


def _curl(route: str, *arguments: str) -> bytes:
    url = os.environ["ONNXPLAIN_URL"] + route
    return subprocess.run(
        ["curl", "--silent", "--show-error", url, *arguments], check=True, stdout=subprocess.PIPE
    ).stdout


def _told(body: bytes) -> dict[str, Any]:
    document = json.loads(body)
    if "reason" not in document:
        return {"response": document}
    field = next((each["field"] for each in document.get("errors", [])), "")
    return {"error": {"reason": document["reason"], "message": document["detail"], "field": field}}


def _events(body: bytes) -> dict[str, Any]:
    progress: list[list[float]] = []
    for event in body.decode().strip().split("\n\n"):
        lines = dict(line.split(": ", 1) for line in event.splitlines())
        document = json.loads(lines["data"])
        if lines["event"] == "progress":
            progress.append([document["done"], document["planned"]])
    return {**_told(lines["data"].encode()), "progress": progress}


def main() -> None:
    """Ask all named cases."""
    root, out = map(Path, sys.argv[1:3])
    for name in sys.argv[3:]:
        case = json.loads((root / "conformance" / "cases" / f"{name}.json").read_text())
        (out / f"{name}.json").write_text(json.dumps(answer(root, case)))


if __name__ == "__main__":
    main()
