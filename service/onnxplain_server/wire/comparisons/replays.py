"""Replay of an answer: the request of its receipt again, and what differs from the first time."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

from google.protobuf.message import Message
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse, Receipt

from onnxplain_server.core.errors import ExplainError, Reason

_DRAWN = {"plots", "replicates"}
"""Fields of an explanation that are made from its other numbers."""
_POSITIONS = re.compile(r"\[\d+\]")


@dataclass(frozen=True, slots=True)
class FieldDifference:
    """Values of one field that differ, over all positions of lists.

    Attributes
    ----------
    field : str
        Path without positions, like "firm.importances.values".
    differing_count, value_count : int
    largest : float or None
        Largest difference of two numbers, as a share of the largest number of the field; None where
        one side lacks a value, or values are no finite numbers.
    """

    field: str
    differing_count: int
    value_count: int
    largest: float | None


@dataclass(frozen=True, slots=True)
class Replay:
    """Comparison of an answer with its replay.

    Attributes
    ----------
    number_count : int
        Values of the explanations that were compared.
    differences : tuple of FieldDifference
        Empty where both are the same to the last bit.
    causes : tuple of str
        What was not as it was the first time, as sentences without their end.
    """

    number_count: int
    differences: tuple[FieldDifference, ...]
    causes: tuple[str, ...]


def request_of(answer: ExplainResponse) -> ExplainRequest:
    """Return the request of a kept answer, without model and table.

    Raises
    ------
    ExplainError
        INVALID_REQUEST for an answer whose receipt has none.
    """
    if not answer.receipt.HasField("request"):
        raise ExplainError(
            Reason.INVALID_REQUEST,
            "the receipt of this answer has no request: it was made by a version of onnxplain "
            "that did not keep it, or its receipt was cut",
            "",
        )
    request = ExplainRequest()
    request.CopyFrom(answer.receipt.request)
    request.plots = request.partial = False
    return request


def compare_replay(kept: ExplainResponse, replayed: ExplainResponse) -> Replay:
    """Compare the explanations of two answers, value by value."""
    before, after = (
        {
            path: value
            for i, explanation in enumerate(answer.explanations)
            for path, value in _leaves(explanation, f"[{i}]", _DRAWN)
        }
        for answer in (kept, replayed)
    )
    by_field: dict[str, list[str]] = {}
    for path in {**before, **after}:
        by_field.setdefault(_POSITIONS.sub("", path).strip("."), []).append(path)
    found = (_difference(field, paths, before, after) for field, paths in by_field.items())
    differences = tuple(each for each in found if each.differing_count)
    causes = list(_causes(kept.receipt, replayed.receipt))
    causes += _chances(kept.receipt, replayed.receipt) if differences else []
    return Replay(len({**before, **after}), differences, tuple(causes))


def _leaves(message: Message, path: str, left_out: set[str]) -> Iterator[tuple[str, object]]:
    """Yield the values of a message that are set, with their paths."""
    for field, value in message.ListFields():
        if field.name in left_out:
            continue
        if not field.is_repeated:
            values = [(f"{path}.{field.name}", value)]
        else:
            values = [(f"{path}.{field.name}[{i}]", each) for i, each in enumerate(value)]
        for place, each in values:
            if isinstance(each, Message):
                yield from _leaves(each, place, set())
            else:
                yield place, each


def _difference(
    field: str, paths: list[str], before: dict[str, object], after: dict[str, object]
) -> FieldDifference:
    pairs = [(before.get(path), after.get(path)) for path in paths]
    differing = [(one, other) for one, other in pairs if not _are_same(one, other)]
    scale = max((abs(x) for pair in pairs for x in _numbers(pair)), default=0.0)
    numbers = [_numbers(pair) for pair in differing]
    largest = None
    if scale and all(len(pair) == 2 for pair in numbers):
        largest = max((abs(one / scale - other / scale) for one, other in numbers), default=None)
    return FieldDifference(field, len(differing), len(pairs), largest)


def _numbers(pair: tuple[object, object]) -> list[float]:
    """Return those of a pair that are finite numbers."""
    return [x for x in pair if isinstance(x, int | float) and math.isfinite(x)]


def _are_same(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return one.hex() == other.hex()
    return one == other


def _causes(kept: Receipt, replayed: Receipt) -> Iterator[str]:
    """Tell what was not as it was: files, versions, processor, engine."""
    for field, name in (("model_digest", "model"), ("table_digest", "table")):
        if getattr(kept, field) != getattr(replayed, field):
            yield f"another {name}: {getattr(kept, field)} then, {getattr(replayed, field)} now"
    then, now = (_environment(receipt) for receipt in (kept, replayed))
    for name in sorted({*then, *now}):
        if then.get(name) != now.get(name):
            yield f"{name}: {then.get(name, 'none')} then, {now.get(name, 'none')} now"


def _chances(kept: Receipt, replayed: Receipt) -> Iterator[str]:
    """Tell what may make another answer of the same request."""
    request = kept.request
    if request.HasField("budget_seconds") and kept.row_count != replayed.row_count:
        yield "budget_seconds: trials chose other rows"
    if request.allow_inconsistent_model:
        yield "allow_inconsistent_model: the model's answers may change from call to call"
    if kept.HasField("remote_model"):
        yield "a model behind an address: its server may answer otherwise than it did"
    if replayed.size_dependent_operators:
        names = ", ".join(replayed.size_dependent_operators)
        yield f"{names}: rounding may depend on how many rows a call of the model has"


def _environment(receipt: Receipt) -> dict[str, str]:
    engine = ExplainRequest.Engine.Name(receipt.engine)
    return {
        "onnxplain": receipt.server_version,
        **receipt.library_versions,
        "processor": receipt.processor,
        "engine": engine,
    }
