"""Events of a streamed explanation, as callers see them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias

from onnxplain.progress import Progress
from onnxplain.results.explanations import Explanations
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain.v1.explanation_service_pb2 import (
    ExplainRequest,
    ExplainResponse,
    ExplainStreamResponse,
)


@dataclass(frozen=True, slots=True)
class PartialExplanation:
    """Part of an answer that is not finished; see the request's `partial`.

    Attributes
    ----------
    index : int
        Of the explanation in the answer.
    explanations : Explanations
        The explanation alone, with its warnings.
    is_final : bool
        Whether the answer will have the same explanation. Otherwise it is from some of the rows:
        `rows` tells how many, and intervals tell how far the final values may be.
    """

    index: int
    explanations: Explanations
    is_final: bool


StreamEvent: TypeAlias = Progress | PartialExplanation | Explanations
"""What a stream gives: the explanations come last."""


def to_stream_event(event: ExplainStreamResponse) -> StreamEvent:
    """Return an event of the contract as callers see it."""
    if event.HasField("response"):
        return Explanations(event.response)
    if event.HasField("partial"):
        return to_partial(event.partial)
    return Progress(event.progress.done, event.progress.planned)


def to_partial(part: pb.PartialExplanation) -> PartialExplanation:
    """Return a partial explanation of the contract as callers see it."""
    alone = ExplainResponse(explanations=[part.explanation], warnings=part.warnings)
    return PartialExplanation(part.index, Explanations(alone), part.is_final)


def refuse_partial(request: ExplainRequest) -> None:
    """Raise ValueError for a request of parts where only the answer is returned."""
    if request.partial:
        raise ValueError(
            "partial: only explain_stream and start give partial answers; call one of them"
        )
