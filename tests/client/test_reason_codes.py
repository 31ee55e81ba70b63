"""Codes that the TypeScript client gives reasons, of which REST tells only the name."""

from __future__ import annotations

import re
from pathlib import Path

from onnxplain_server.transport.status import STATUS

REASONS = Path(__file__).parents[2] / "clients/typescript/src/reasons.ts"


def test_each_reason_has_the_code_that_grpc_gives_it() -> None:
    table = REASONS.read_text(encoding="utf-8").partition("CODES = {")[2].partition("}")[0]

    codes = dict(re.findall(r'(\w+): "(\w+)"', table))

    assert codes == {reason.name: status.grpc.name for reason, status in STATUS.items()}
