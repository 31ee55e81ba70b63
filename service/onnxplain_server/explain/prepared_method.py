"""Prepared method: a method of a request, ready to run."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import Any

from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.registry import preparation_of
from onnxplain_server.explain.single_flight_key import single_flight_key
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods.registry import Options, Result, method_of
from onnxplain_server.telemetry.spans import span


@dataclass(frozen=True, slots=True, eq=False)
class PreparedMethod:
    """A job, and the request that it belongs to: with rows of its own, where a budget sets them.

    Attributes
    ----------
    request : BoundRequest
    job : Job
    path : str
        Path of the method's options in the request, for errors.
    """

    request: BoundRequest
    job: Job[Any]
    path: str

    @property
    def name(self) -> str:
        """Name of the method in the contract."""
        return method_of(self.job.options).name

    @property
    def predicted_row_count(self) -> int:
        """Upper bound of the rows that the model predicts, without checks and measurements."""
        choice = self.request.choice
        is_from_trees = choice is not None and not choice.predicts
        return 0 if is_from_trees and not self.job.is_always_predicted else self.job.cost

    def run(self, tell: Callable[[Any], object] | None = None) -> Result:
        """Run the job; equal jobs on rows of a table run once at a time (single-flight).

        Parameters
        ----------
        tell : callable (Result), or None
            Takes the results of rounds, where the job has some.
        """
        request, job = self.request, self.job
        with span("method", method=self.name), ExitStack() as single_flight:
            if request.is_sampled:
                names = request.effects.output_names if request.has_model else ()
                key = partial(
                    single_flight_key, request.background, names, request.question, job.options
                )
                single_flight.enter_context(request.host.deduplicate(key))
            in_rounds = job.run_in_rounds if tell else None
            result: Result = in_rounds(tell) if in_rounds and tell else job.run()
            return result


def prepare_methods(request: BoundRequest) -> list[PreparedMethod]:
    """Prepare the methods that a request names."""
    return [
        prepare_method(request, options, f"methods[{i}].{method_of(options).name}")
        for i, options in enumerate(request.question.methods)
    ]


def prepare_method(request: BoundRequest, options: Options, path: str) -> PreparedMethod:
    """Prepare a method of a request.

    Raises
    ------
    ExplainError
        If options, model and table do not fit each other.
    """
    return PreparedMethod(
        request, preparation_of(options).prepare(Task(request, path), options), path
    )
