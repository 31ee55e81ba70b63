"""A step of an MLOps pipeline: explain a new model on its validation table, before it ships.

Stores the answer under the model's digest, and fails where a threshold is passed:

    python step.py model.onnx validation.parquet thresholds.json answers/ --endpoint HOST:PORT

Needs the client only (`pip install onnxplain`). Exit codes: 0 within all thresholds; 1 one is
passed; 2 the step could not be done.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import onnxplain


def main() -> int:
    arguments = parse()
    thresholds = json.loads(arguments.thresholds.read_text())
    try:
        with onnxplain.connect(arguments.endpoint, timeout=arguments.timeout) as client:
            found = client.explain(
                arguments.model,
                arguments.table,
                onnxplain.Interactions(pairwise_feature_count=5),
                **thresholds["request"],
            )
    except onnxplain.ExplainError as error:
        print(f"step: the service refused: {error}", file=sys.stderr)
        return 2
    print(f"stored {store(found, arguments.answers)}")
    passed = list(violations(found.interactions, thresholds))
    for violation in passed:
        print(f"step: {violation}", file=sys.stderr)
    return 1 if passed else 0


def parse() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("table", type=Path)
    parser.add_argument("thresholds", type=Path, help="JSON: request, and what is allowed")
    parser.add_argument("answers", type=Path, help="folder to store the answer in")
    parser.add_argument("--endpoint", default="localhost:8081")
    parser.add_argument("--timeout", type=float, default=600.0)
    return parser.parse_args()


def store(found: onnxplain.Explanations, folder: Path) -> Path:
    """Write the whole answer; the same model has the same name, and a crash leaves no half file."""
    folder.mkdir(parents=True, exist_ok=True)
    name = found.receipt.model_digest.replace("sha256:", "") + ".json"
    draft = folder / f".{name}"
    draft.write_text(found.to_json())
    return draft.replace(folder / name)


def violations(found: onnxplain.InteractionsResult, thresholds: dict[str, Any]) -> Iterator[str]:
    """Say which threshold is passed, by how much."""
    importance = {s.features[0]: float(max(s.values)) for s in found.importance}
    for name, most in thresholds.get("importance_at_most", {}).items():
        if importance[name] > most:
            yield f"importance of {name} is {importance[name]:.3g}; at most {most:g} is allowed"
    for name, least in thresholds.get("importance_at_least", {}).items():
        if importance[name] < least:
            yield f"importance of {name} is {importance[name]:.3g}; at least {least:g} is expected"
    total, most = float(max(found.total.values)), thresholds.get("interactions_at_most", 1.0)
    if total > most:
        yield f"interactions make up {total:.3g} of the predictions; at most {most:g} is allowed"


if __name__ == "__main__":
    sys.exit(main())
