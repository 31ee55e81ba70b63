"""Partial answers: statistics with intervals from some of the rows, and each finished method.

Interactions that are predicted are first computed on samples of a sixteenth and a quarter of
their rows, drawn at random, the smaller sample as part of the larger one. Their time grows with
the square of the rows, so both cost a fifteenth more. Trees take no such samples: they are exact,
and quick.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note
from onnxplain_server.explain.answers.explanation import (
    Explanation,
    explanations_of,
    method_notes,
    naming_of,
)
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.prepared_method import PreparedMethod, prepare_method
from onnxplain_server.explain.question import Engine
from onnxplain_server.methods.registry import Options, Result, method_of
from onnxplain_server.methods.resampling import MIN_ROWS, Resampling

_SHARES = (16, 4)
"""Parts of the rows that statistics are computed on before, as divisors."""
_REPEATS, _LEVEL = 200, 0.9
"""Replicates and confidence level of their intervals, where the request has none."""
_ENDED = frozenset({Reason.CANCELLED, Reason.DEADLINE_EXCEEDED})


@dataclass(frozen=True, slots=True, eq=False)
class PartialExplanation:
    """Part of an answer that is not finished.

    Attributes
    ----------
    index : int
        Of the explanation in the answer.
    explanation : Explanation
    notes : tuple of Note
        Warnings of the method.
    is_final : bool
        Whether the answer will have the same explanation; otherwise it is from some of its rows.
    """

    index: int
    explanation: Explanation
    notes: tuple[Note, ...]
    is_final: bool


class PartialAnswer:
    """Methods of a request as they finish, published if the request asks for it.

    Parameters
    ----------
    request : BoundRequest
    """

    def __init__(self, request: BoundRequest) -> None:
        self._request = request
        self._publish = request.resources.publish
        self._index = 0

    def run(self, method: PreparedMethod) -> Result:
        """Run the next method."""
        if self._publish is None:
            return method.run()
        for options, sampled in _on_fewer_rows(method):
            self._run_sampled(options, sampled, method.path)
        result = method.run()
        self._tell(method, result, is_final=True)
        self._index += 1
        return result

    def _run_sampled(self, options: Options, sampled: BoundRequest, path: str) -> None:
        """Publish statistics on fewer rows, unless they are too few for the method."""
        try:
            method = prepare_method(sampled, options, path)
            self._tell(method, method.job.run(), is_final=False)
        except ExplainError as error:
            if error.reason in _ENDED:
                raise

    def _tell(self, method: PreparedMethod, result: Result, *, is_final: bool) -> None:
        assert self._publish is not None  # noqa: S101 - see run
        jobs, results = [method.job], [result]
        naming = naming_of(self._request, jobs)
        plots = self._request.question.plots and is_final
        [explanation] = explanations_of(jobs, results, naming, plots=plots)
        notes = tuple(method_notes(jobs, results))
        self._publish(PartialExplanation(self._index, explanation, notes, is_final))


def _on_fewer_rows(method: PreparedMethod) -> Iterator[tuple[Options, BoundRequest]]:
    """Yield options with intervals, and requests for samples of the method's rows."""
    options, choice, rows = method.job.options, method.request.choice, method.job.rows
    is_predicted = choice is not None and choice.engine is Engine.BLACK_BOX
    if method_of(options).name != "interactions" or not is_predicted or rows is None:
        return
    for share in _SHARES:
        if rows.drawn // share >= MIN_ROWS:
            yield with_intervals(options), method.request.trial(rows.drawn // share)


def with_intervals(options: Options) -> Options:
    """Return options of interactions that give intervals, and no tests."""
    from onnxplain_server.methods import interactions

    assert isinstance(options, interactions.Options)  # noqa: S101 - see the caller
    resampling = options.resampling
    if not resampling.repeat_count:
        resampling = Resampling(_REPEATS, resampling.scheme, _LEVEL)
    return replace(options, resampling=resampling, permutation_count=0)
