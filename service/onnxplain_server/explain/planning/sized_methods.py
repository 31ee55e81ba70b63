"""Methods of a request on fewer rows and with fewer repetitions than it asks for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.prepared_method import PreparedMethod, prepare_method
from onnxplain_server.explain.registry import preparation_of
from onnxplain_server.explain.task import Job
from onnxplain_server.methods.registry import Options


class Size(NamedTuple):
    """Size of a request.

    Attributes
    ----------
    row_count : int
        Most rows of each method.
    saving_step : int
        Place among `Preparation.fewer_repetitions`, from 1; 0 for those asked for.
    """

    row_count: int
    saving_step: int = 0


class SizedMethods:
    """Methods of a request, prepared at other sizes.

    Parameters
    ----------
    request : BoundRequest
    whole : sequence of PreparedMethod
        The methods as the request asks for them.
    """

    def __init__(self, request: BoundRequest, whole: Sequence[PreparedMethod]) -> None:
        self.request = request
        self.whole = whole
        given = request.question.methods
        self._options = list(map(_options_by_step, given, whole))

    @property
    def row_count(self) -> int:
        """Most rows that a method draws."""
        return max((_row_count(method) for method in self.whole), default=0)

    @property
    def saving_steps(self) -> int:
        """Steps after which no method saves more repetitions."""
        return max(map(len, self._options)) - 1

    def at(self, size: Size, *, is_trial: bool = False) -> list[PreparedMethod]:
        """Prepare the methods at a size; for a trial, neither progress nor the cache sees them."""
        requests: dict[int, BoundRequest] = {}
        prepared = []
        for steps, method in zip(self._options, self.whole, strict=True):
            options = steps[min(size.saving_step, len(steps) - 1)]
            is_smaller = _row_count(method) > size.row_count
            if not is_trial and not is_smaller and options == steps[0]:
                prepared.append(method)
                continue
            count = min(_row_count(method), size.row_count)
            if count not in requests:
                requests[count] = self._sized(count, is_trial=is_trial, is_smaller=is_smaller)
            prepared.append(prepare_method(requests[count], options, method.path))
        return prepared

    def _sized(self, row_count: int, *, is_trial: bool, is_smaller: bool) -> BoundRequest:
        if is_trial:
            return self.request.trial(max(row_count, 1))
        return self.request.with_row_count(row_count) if is_smaller else self.request

    def changes(self, sized: Sequence[PreparedMethod]) -> Iterator[str]:
        """Tell by which rows and repetitions methods differ from those asked for."""
        for method, whole in zip(sized, self.whole, strict=True):
            rows, all_rows = _row_count(method), _row_count(whole)
            parts = [f"on {rows:,} rows instead of {all_rows:,}"] if rows != all_rows else []
            parts += _repetitions(method.job, whole.job)
            if parts:
                yield f"{method.name} is {' and '.join(parts)}"


def _options_by_step(options: Options, whole: PreparedMethod) -> Sequence[Options]:
    """Return the options as sent, and with ever fewer repetitions."""
    return [options, *preparation_of(options).fewer_repetitions(options, whole.job)]


def _row_count(method: PreparedMethod) -> int:
    return method.job.rows.drawn if method.job.rows else 0


def _repetitions(job: Job[Any], whole: Job[Any]) -> Iterator[str]:
    repetitions = preparation_of(job.options).repetitions
    # On fewer rows there may be none, where values are then exact.
    for few, many in zip(repetitions(job), repetitions(whole), strict=False):
        if few.times != many.times:
            words = few.words.format(few.times, many.times)
            yield words.replace("1 starts", "1 start").replace("1 times", "once")
