"""Operations that were left alone, and whether another answer is equal to theirs."""

from __future__ import annotations

import itertools
import json
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from google.protobuf.message import Message
from onnxplain.v1.explanation_service_pb2 import ExplainResponse

from bench.shared.commands import ROOT

_FOLDER = ROOT / "build" / "replica-kills"
_TOLERANCE = 1e-9


@dataclass(frozen=True)
class Whole:
    """An operation that was left alone.

    Attributes
    ----------
    answer : ExplainResponse
    planned_rows : int
    seconds, processor_seconds : float
        By the audit log.
    """

    answer: ExplainResponse
    planned_rows: int
    seconds: float
    processor_seconds: float

    def keep(self, method: str) -> None:
        """Keep it for later runs; the folder goes with `make clean`."""
        _FOLDER.mkdir(parents=True, exist_ok=True)
        (_FOLDER / f"{method}.pb").write_bytes(self.answer.SerializeToString())
        facts = self.planned_rows, self.seconds, self.processor_seconds
        (_FOLDER / f"{method}.json").write_text(json.dumps(facts))

    @staticmethod
    def kept(method: str) -> Whole | None:
        """Return the one of an earlier run; None where there is none."""
        answer, facts = (_FOLDER / f"{method}.{kind}" for kind in ("pb", "json"))
        if not facts.exists():
            return None
        return Whole(
            ExplainResponse.FromString(answer.read_bytes()), *json.loads(facts.read_text())
        )


def compared(answer: ExplainResponse, expected: ExplainResponse) -> str:
    """Return how the explanations are equal; "different" if they are not."""
    if _bits(answer) == _bits(expected):
        return "bits"
    may_round = bool(answer.receipt.size_dependent_operators)
    pairs = zip(_leaves(answer.explanations), _leaves(expected.explanations), strict=True)
    return "1e-9" if may_round and all(itertools.starmap(_is_close, pairs)) else "different"


def _bits(answer: ExplainResponse) -> bytes:
    return b"".join(each.SerializeToString(deterministic=True) for each in answer.explanations)


def _leaves(value: object) -> Iterator[object]:
    """Yield all numbers and texts of messages."""
    if isinstance(value, Message):
        for field, content in value.ListFields():
            yield field.name
            yield from _leaves(content)
    elif isinstance(value, (str, bytes, int, float)):
        yield value
    else:
        for each in value:  # type: ignore[attr-defined]
            yield from _leaves(each)


def _is_close(one: object, other: object) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return bool(np.isclose(one, other, rtol=_TOLERANCE, atol=_TOLERANCE, equal_nan=True))
    return one == other
