"""Budget of the engine SURROGATE: what of a request it serves, and how many rows it predicts."""

from __future__ import annotations

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.question import Engine, Question
from onnxplain_server.explain.registry import preparation_of
from onnxplain_server.methods.registry import method_of

PREDICTED_ROWS, MOST_PREDICTED_ROWS = 10_000, 100_000
"""Rows that are predicted where the request has no budget; and rows whose surrogates are fitted in
some seconds for each output, where it has a target error or leaves the engine open."""


def check_surrogate(question: Question) -> None:
    """Refuse what the engine SURROGATE does not estimate.

    Raises
    ------
    ExplainError
        INVALID_OPTION.
    """
    if question.engine is not Engine.SURROGATE:
        return
    if not question.methods:
        raise _refused("an overview; name interactions in methods", "methods")
    for i, options in enumerate(question.methods):
        if not preparation_of(options).has_estimate:
            name = method_of(options).name
            raise _refused(
                f"{name}; ask for it in a request of its own, by BLACK_BOX", f"methods[{i}].{name}"
            )
    if question.budget_seconds is not None:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "the engine SURROGATE spends predicted rows, not time: set "
            "budget_predicted_row_count, and leave budget_seconds out",
            "budget_seconds",
        )


def may_be_estimated(request: BoundRequest) -> bool:
    """Return whether a request leaves the engine open, and names only what is estimated.

    Requests that name an engine or a budget keep it; tables in blocks are read by their sample.
    """
    question, resources = request.question, request.resources
    is_open = (
        question.engine is None
        and question.budget_seconds is None
        and question.budget_predicted_row_count is None
    )
    if not question.methods or not is_open or not request.has_model:
        return False
    if not resources.surrogate_seconds or resources.streamed is not None:
        return False
    return all(preparation_of(options).has_estimate for options in question.methods)


def hybrid_count(question: Question, row_count: int, fewest: int, without_budget: int) -> int:
    """Return how many hybrid rows a method predicts: those of the budget, without the rows.

    Parameters
    ----------
    row_count : int
        Rows that are predicted as they are.
    fewest : int
        Hybrid rows that the method needs.
    without_budget : int
        Rows of a request that has no budget.

    Raises
    ------
    ExplainError
        INVALID_OPTION if the budget does not reach for them.
    """
    budget, methods = question.budget_predicted_row_count, len(question.methods)
    count = int((without_budget if budget is None else budget) // methods) - row_count
    if count < fewest:
        needed = methods * (row_count + fewest)
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"the engine SURROGATE predicts {row_count:,} rows and at least {fewest:,} hybrid rows "
            f"for these features and pairs; set budget_predicted_row_count to {needed:,} or more, "
            "or ask for fewer features, pairs or rows (row_count)",
            "budget_predicted_row_count",
        )
    return count


def _refused(what: str, path: str) -> ExplainError:
    return ExplainError(
        Reason.INVALID_OPTION, f"the engine SURROGATE does not estimate {what}", path
    )
