"""Interactions of an explainer's model, computed once and added to answers."""

from __future__ import annotations

from dataclasses import dataclass

from onnxplain.v1.explanation_service_pb2 import ExplainResponse
from onnxplain.v1.explanation_service_pb2 import Warning as AnswerWarning

NOT_COMPUTED = "INTERACTIONS_NOT_COMPUTED"
"""Code of the warning in place of interactions."""


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
    """

    fields: tuple[bytes, ...] = ()
    model: str = ""
    problem: str = "they are not yet computed; ask again later"

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
            return b"".join(field for field in self.fields if field not in answer)
        problem = "the model has changed since they were computed" if self.fields else self.problem
        message = f"The answer has no interactions of the model: {problem}."
        warning = AnswerWarning(code=NOT_COMPUTED, message=message)
        return ExplainResponse(warnings=[warning]).SerializeToString()
