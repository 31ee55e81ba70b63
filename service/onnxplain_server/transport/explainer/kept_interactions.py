"""Interactions of an explainer's model, computed once and added to answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from onnxplain.v1.explanation_service_pb2 import ExplainResponse

from onnxplain_server.core.request import REMOTE_FORM
from onnxplain_server.core.warnings import AnswerWarning, InputWarning


@dataclass(frozen=True, slots=True)
class KeptInteractions:
    """Interactions on the background, or why there are none.

    Attributes
    ----------
    fields : tuple of bytes
        Explanation and warnings, as fields of a serialised ExplainResponse; empty: none yet.
    model : str
        Id of the model that was explained.
    problem : str
        Why there are none.
    time : str
        When they were computed, in UTC.
    """

    fields: tuple[bytes, ...] = ()
    model: str = ""
    problem: str = "they are not yet computed; ask again later"
    time: str = ""

    def added_to(self, answer: bytes, model: str) -> bytes:
        """Return what an answer takes: the interactions, or a warning without them.

        Parameters
        ----------
        answer : bytes
            Serialised ExplainResponse, whose warnings are not repeated.
        model : str
            Id of its model.
        """
        if self.fields and self.model == model:
            return self._content(answer)
        problem = "the model has changed since they were computed" if self.fields else self.problem
        message = f"The answer has no interactions of the model: {problem}."
        return answer_warning(InputWarning.INTERACTIONS_NOT_COMPUTED, message)

    def _content(self, answer: bytes) -> bytes:
        content = b"".join(field for field in self.fields if field not in answer)
        if not self.model.startswith(f"{REMOTE_FORM}:"):
            return content
        return content + answer_warning(
            InputWarning.INTERACTIONS_KEPT,
            f"The interactions are those of the predictor as it answered at {self.time}; if it was "
            "replaced since, restart the explainer.",
        )


def answer_warning(warning: AnswerWarning, message: str) -> bytes:
    """Return a serialised ExplainResponse with a warning alone."""
    answer = ExplainResponse()
    answer.warnings.add(code=warning.name, message=message, kind=warning.value.tells.name)
    return bytes(answer.SerializeToString())


def separate_fields(response: bytes) -> tuple[bytes, ...]:
    """Return each explanation and each warning, as a serialised ExplainResponse of its own."""
    # mypy takes the contract's Warning in the stub for the builtin.
    read: Any = ExplainResponse.FromString(response)
    explanations = (ExplainResponse(explanations=[each]) for each in read.explanations)
    warnings = (ExplainResponse(warnings=[each]) for each in read.warnings)
    return tuple(bytes(each.SerializeToString()) for each in (*explanations, *warnings))
