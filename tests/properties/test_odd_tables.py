"""Odd tables: each answer equals brute force, and says nothing that its numbers contradict.

Or it is refused by a reason that names column, row or field.
"""

from __future__ import annotations

import os
from collections.abc import Iterator

import numpy as np
import pytest
from asked.answers import unexplained_nans
from asked.ask import FAULTS_OF_OURS
from odd.claims import faults_of_claims
from odd.expected import faults_of_numbers, faults_of_predictions
from odd.questions import METHODS, Question, draw_question
from odd.shown import faults_of_labels
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, PredictRequest, PredictResponse
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from told.sentences import faults_of_sentences

COUNT = int(os.environ.get("TEST_ODD_TABLES", "100"))
"""Tables; `make torture` draws more."""
FIRST = int(os.environ.get("TEST_ODD_TABLES_FROM", "0"))


def faults_of(ask, question: Question) -> Iterator[str]:
    """Answer a question, and tell what is wrong with its numbers, claims and labels."""
    try:
        answer = answer_of(ask, question)
    except ExplainError as refused:
        if not is_clear(refused, question):
            yield f"{refused.reason.name}: {refused.message}"
        return
    with np.errstate(over="ignore", invalid="ignore"):
        if isinstance(answer, PredictResponse):
            yield from faults_of_predictions(question, answer)
            return
        yield from (f"NaN without a warning: {name}" for name in unexplained_nans(answer))
        yield from faults_of_numbers(question, answer)
        yield from faults_of_claims(question, answer)
        yield from faults_of_sentences(answer, with_page=False)
    yield from faults_of_labels(answer)


def answer_of(ask, question: Question) -> ExplainResponse | PredictResponse:
    asked = question.request()
    if question.method != "predict":
        reply = ask.runner.answer(
            Call(ServiceMethod.EXPLAIN, asked.SerializeToString()), ask.host()
        )
        return ExplainResponse.FromString(reply.content)
    rows = PredictRequest(
        model=asked.model, table=asked.table, feature_columns=asked.feature_columns
    )
    reply = ask.runner.answer(Call(ServiceMethod.PREDICT, rows.SerializeToString()), ask.host())
    return PredictResponse.FromString(reply.content)


def is_clear(refused: ExplainError, question: Question) -> bool:
    """Tell whether a refusal names a column, a row, or a field of the request."""
    is_named = any(repr(name) in refused.message for name in question.columns)
    is_placed = bool(refused.field) or "row" in refused.message or is_named
    return is_placed and refused.reason not in FAULTS_OF_OURS


@pytest.mark.parametrize("method", METHODS)
def test_odd_tables_are_answered_as_by_brute_force_or_refused_clearly(ask, method: str) -> None:
    seeds = (s for s in range(FIRST, FIRST + COUNT) if METHODS[s % len(METHODS)] == method)
    questions = ((seed, draw_question(seed)) for seed in seeds)
    found = [
        f"{seed}: {fault}; {question.told}"
        for seed, question in questions
        for fault in faults_of(ask, question)
    ]
    assert found == []
