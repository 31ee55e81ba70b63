"""Memory that runs out while the answer is written: the caller is told, the log has no stack."""

from __future__ import annotations

import numpy as np
import pytest
from hostile.base import model, node
from onnxplain.v1.explanation_service_pb2 import MethodOptions
from onnxplain.v1.individual_conditional_expectation_pb2 import (
    IndividualConditionalExpectationOptions,
)
from onnxplain_server.adapters.sandbox.confine import Budget
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod

IDENTITY = model([node("Neg", "X")]).SerializeToString()
ROW_COUNT = 6_000
CURVE_COUNTS = range(4_500, ROW_COUNT + 1, 250)
"""Answers of 32 to 43 MB: the memory ends in another step of writing each of them."""


@pytest.mark.slow
def test_memory_that_ends_while_an_answer_is_written_is_out_of_memory(
    own, caplog: pytest.LogCaptureFixture
) -> None:
    """Protobuf tells a failed allocation as an error of encoding or decoding."""
    rows = np.random.default_rng(0).normal(size=(ROW_COUNT, 3))
    csv = b"a,b,c\n" + b"".join(b"%f,%f,%f\n" % tuple(row) for row in rows)
    runner = own(budget=Budget(160 * 2**20, 3_600), arena_bytes=64 * 2**20)
    reasons = []
    for count in CURVE_COUNTS:
        options = IndividualConditionalExpectationOptions(grid_size=100, curve_count=count)
        method = MethodOptions(individual_conditional_expectation=options)
        try:
            runner.answer(
                Call(
                    ServiceMethod.EXPLAIN, own.request(IDENTITY, csv, method, row_count=ROW_COUNT)
                ),
                own.call(),
            )
        except ExplainError as error:
            reasons.append(error.reason)

    assert set(reasons) == {Reason.OUT_OF_MEMORY}
    assert "failed" not in caplog.text
