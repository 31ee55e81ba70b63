"""Partial answers: statistics with intervals from some of the rows, and each finished method.

Methods that are predicted are first computed on random samples of their rows, the smaller sample
as part of the larger one. Interactions take a sixteenth and a quarter: their time grows with the
square of the rows, so both cost a fifteenth more. Permutation importance and partial dependence,
whose time grows with the rows, take a sixteenth, which costs that. Trees take no such samples: they
are exact, and quick. Estimates with a target error come in rounds, of which each is published.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.explain.answers.explanation import (
    explanations_of,
    method_notes,
    naming_of,
)
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.explanation import PartialExplanation
from onnxplain_server.explain.prepared_method import PreparedMethod, prepare_method
from onnxplain_server.explain.registry import preparation_of
from onnxplain_server.methods.registry import Result
from onnxplain_server.methods.resampling import MIN_ROWS
from onnxplain_server.methods.sampled.intervals import LEVEL, SampledRows

_LEAST_SAVING = 8
"""Least ratio of a method's predictions to those on a sixteenth of its rows: it is small where rows
repeat, which are predicted once."""
_ENDED = frozenset({Reason.CANCELLED, Reason.DEADLINE_EXCEEDED})


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
        for sample in _samples(method):
            self._run_sampled(sample, method)
        result = method.run(partial(self._tell, method, is_final=False))
        self._tell(method, result, is_final=True)
        self._index += 1
        return result

    def _run_sampled(self, sample: BoundRequest, whole: PreparedMethod) -> None:
        """Publish statistics on fewer rows, unless they are too few for the method."""
        options = whole.job.options
        own = preparation_of(options)
        try:
            method = prepare_method(sample, own.with_intervals(options), whole.path)
            if own.has_small_samples or _LEAST_SAVING * method.job.cost <= whole.job.cost:
                self._tell(method, _result(method, whole), is_final=False)
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


def _samples(method: PreparedMethod) -> Iterator[BoundRequest]:
    """Yield requests for samples of the method's rows, smaller ones first."""
    choice, rows = method.request.choice, method.job.rows
    is_predicted = choice is not None and choice.predicts
    own = preparation_of(method.job.options)
    has_intervals = own.has_small_samples or method.job.run_sampled is not None
    if not is_predicted or not has_intervals or rows is None:
        return
    for share in own.sample_shares:
        if rows.drawn // share >= MIN_ROWS:
            yield method.request.trial(rows.drawn // share)


def _result(method: PreparedMethod, whole: PreparedMethod) -> Result:
    """Run a method on a sample of the rows of another."""
    job, rows = method.job, whole.job.rows
    if job.run_sampled is None or rows is None:
        result: Result = job.run()
        return result
    sampled: Result = job.run_sampled(SampledRows(rows.drawn, LEVEL))
    return sampled
