"""Passes and sums of all methods as bytes, as another process would get them: the same answers."""

from __future__ import annotations

import ast

import numpy as np
import pytest
from onnxplain.v1 import average_loss_pb2, firm_pb2, interactions_pb2, partial_dependence_pb2
from onnxplain_server.explain.streaming.pass_classes import pass_classes
from onnxplain_server.trees.streaming.encoding import Encoding
from onnxplain_server.trees.streaming.tasks import Threads

from tests.adapters.runner.streaming import (
    answers,
    cut_blocks,
    keep_levels,
    known_rows,
    names_of,
    request_of,
)

N = 600
NUMBERS, CLASSES = "sklearn_gradient_boosting", "sklearn_random_forest_3class"


@pytest.fixture
def encoded(monkeypatch):
    """Encode and decode each pass, and the sums of each task; lists the classes of the passes."""
    run, encoding, seen = Threads.run, Encoding(pass_classes()), []

    def again(value):
        return encoding.decode(encoding.encode(value))

    def run_encoded(self, work, ranges, at_once):
        seen.append(type(work).__name__)
        return (again(sums) for sums in run(self, again(work), ranges, at_once))

    monkeypatch.setattr(Threads, "run", run_encoded)
    return seen


def table_of(model):
    rng = np.random.default_rng(0)
    return {
        **known_rows(model, N, rng),
        "y": rng.normal(size=N) if model is NUMBERS else rng.choice(
            np.array(["setosa", "versicolor", "virginica"]), N
        ),
        "kind": rng.choice(np.array(["a", "b", ""]), N),
    }  # fmt: skip


def requests():
    loss = average_loss_pb2.AverageLossOptions
    return {
        "interactions": (NUMBERS, interactions_pb2.InteractionsOptions()),
        "partial_dependence": (
            NUMBERS,
            partial_dependence_pb2.PartialDependenceOptions(group_column="kind"),
        ),
        "average_loss": (
            CLASSES,
            loss(loss=loss.Loss.MLOGLOSS, probability_floor=0.01, group_column="kind"),
        ),
        "firm": (NUMBERS, firm_pb2.FirmOptions(features=["bmi", "kind", "bmi * s5 > 0"])),
    }


@pytest.mark.parametrize("method", requests())
def test_answers_are_the_same_bytes(runner, tmp_path, monkeypatch, request, method) -> None:
    cut_blocks(monkeypatch, 64)
    keep_levels(monkeypatch, 49)
    model, options = requests()[method]
    asked = request_of(model, feature_columns=names_of(model), target_column="y")
    getattr(asked.methods.add(), method).MergeFrom(options)
    table = table_of(model)

    plain, _ = answers(runner, asked, table, tmp_path)
    passes = request.getfixturevalue("encoded")
    found, _ = answers(runner, asked, table, tmp_path)

    assert passes
    assert "read in blocks" in found.receipt.engine_reason
    bits = [answer.explanations[0].SerializeToString() for answer in (plain, found)]
    assert bits[0] == bits[1]


def test_an_array_is_read_again_where_the_parser_fails_beside_another_thread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """As CPython 3.11 does now and then: no number of ours is lost for that."""
    parse, failures = ast.literal_eval, iter([SystemError("depth mismatch"), None] * 2)

    def failing(text: str) -> object:
        if (failure := next(failures)) is not None:
            raise failure
        return parse(text)

    encoded = Encoding(()).encode([np.arange(3.0)])
    monkeypatch.setattr(ast, "literal_eval", failing)
    (decoded,) = Encoding(()).decode(encoded)

    assert decoded.tolist() == [0.0, 1.0, 2.0]
