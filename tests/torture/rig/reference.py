"""The right answers: computed before the run, in a process of its own, without any fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import onnxplain
from onnxplain.transport.rpcs import DESCRIBE
from onnxplain.v1.explanation_service_pb2 import DescribeModelRequest
from onnxplain.v1.model_pb2 import Model
from rig import answers, cases


def write(file: Path) -> None:
    """Compute all of them: one line each, with the name of the question first."""
    with onnxplain.local() as client, file.open("w", encoding="utf-8") as out:
        for case in (*cases.good().values(), cases.long()):
            _line(out, case.name, client.messages.explain(case.request))
        for name in cases.model_names():
            request = DescribeModelRequest(model=Model(content=cases.model(name)))
            _line(out, f"describe-{name}", client.messages.answer(DESCRIBE, request))


def read(file: Path) -> dict[str, dict[str, Any]]:
    """Return the answers by the name of their question."""
    with file.open(encoding="utf-8") as lines:
        return dict(json.loads(line) for line in lines)


def _line(out, name: str, message) -> None:
    answer = answers.plain(answers.document(message))
    out.write(json.dumps([name, answer]) + "\n")
