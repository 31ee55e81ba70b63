"""Registry of preparations: what each module of `explain.methods` declares as `PREPARATION`.

How a method becomes a job, and all that others ask about it: nothing else compares methods.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, NamedTuple, cast

from onnxplain_server.core.model import Scale
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.question import Question
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods.registry import Method, Options, method_of

_ROOM = f"{__package__}.methods"
"""Package with a module for each method, imported by name: they import this module."""


class Rehearsing(Enum):
    """Way in which a plan counts the rows that a method predicts."""

    TO_ITS_END = "it runs to its end, without the model: it does little beside predicting"
    UNTIL_PREDICTED = "it runs until its last prediction, without the model"
    BY_BOUND = "it does not run; its cost is told, as an upper bound"
    BY_SEARCH = "it runs with the model, which its next rows depend on, where that takes a moment"


class Change(NamedTuple):
    """Change of an option that saves time.

    Attributes
    ----------
    name : str
        Of the option, with those of the parts of the options that it lies in: "growth.depth".
    value : int
        Its new value.
    accuracy : str
        What it costs in accuracy: a sentence.
    """

    name: str
    value: int
    accuracy: str


class Repetitions(NamedTuple):
    """Repetitions of a method's work.

    Attributes
    ----------
    times : int
    words : str
        Template over this number and another one: "shuffled {} times instead of {}".
    """

    times: int
    words: str


def _same(options: Any) -> Any:
    return options


def _same_for_outputs(options: Any, _feature_count: int, _output_count: int) -> Any:
    return options


def _none(_options: Any) -> None:
    return None


def _no_options(_options: Any, _job: Job[Any]) -> Sequence[Any]:
    return ()


def _no_repetitions(_job: Job[Any]) -> tuple[Repetitions, ...]:
    return ()


def _no_changes(_options: Any) -> Iterator[Change]:
    return iter(())


def _no_features(_options: Any, _names: Sequence[str]) -> Collection[str]:
    return ()


def _no_seconds(_request: BoundRequest, _job: Job[Any]) -> None:
    return None


def _no_bytes(_request: BoundRequest, _job: Job[Any], _bytes_of: Callable[[Any], int]) -> None:
    return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Preparation:
    """Preparation of a method.

    Attributes
    ----------
    prepare : callable (Task, Options) -> Job
        Raises ExplainError if options, model and table do not fit each other.
    rows_once : bool
        Whether it predicts each row once: it then uses all rows and does not merge equal ones.
    is_alone : bool
        Whether it must be the request's only method, as it reads another kind of table.
    moves_few_features : bool
        Whether it predicts rows of the table with few features moved.
    is_predicted_on_trees : bool
        Whether the model predicts its rows also where the engine is trees.
    is_on_margin : bool
        Whether it explains the margin of models that have one, where a request names no scale.
    leaves_out_additive : bool
        Whether it predicts nothing for pairs of features whose effects add up.
    is_quadratic_on_trees : bool
        Whether its time on trees behind a link function grows with the square of the rows.
    unread_prediction : callable (Options) -> str or None
        Why it does not read the request's `prediction`; None if it does.
    sample_shares : tuple of int
        Parts of its rows that it is computed on before all of them, as divisors.
    has_small_samples : bool
        Whether that costs little whatever the rows, as its time grows with their square.
    with_intervals : callable (Options) -> Options
        Options whose answer on a part of the rows has intervals.
    rehearsing : callable (Options) -> Rehearsing
    is_count_exact : callable (Options) -> bool
        Whether the rows that a rehearsal counts do not depend on the model's predictions.
    costliest : callable (Options, feature count, output count) -> Options
        Options that rehearse the most rows that the model's predictions can lead to.
    seconds : callable (BoundRequest, Job) -> float or None
        Its time beside predictions; None if trials on few rows tell it.
    answer_bytes : callable (BoundRequest, Job, bytes of a result) -> int or None
        Bytes of its explanation where `seconds` tells its time; None if they are unknown.
    fewer_repetitions : callable (Options, Job) -> sequence of Options
        Options with ever fewer repetitions than those of a job, the last with the fewest that
        leave the method its standard errors.
    repetitions : callable (Job) -> tuple of Repetitions
        Those that `fewer_repetitions` makes fewer; empty where it makes none.
    changes : callable (Options) -> iterator of Change
        Changes that save time, small ones of an option first.
    warm_up : tuple of mappings
        Options, in canonical JSON, that reach all of its code: workers ask for them on the columns
        a, b and c, with a target, before they are confined.
    resamples_rows : callable (Options) -> bool
        Whether it draws replicates of the rows, as clusters where the request names them.
    single_features : callable (Options, names) -> collection of str
        Features that count by themselves, of options with all defaults, where groups of features
        could count as one; `names` are all features.
    is_warm_after_one : bool
        Whether a sum of trees alone reaches all of its code that is loaded late or compiled.
    has_estimate : bool
        Whether the engine SURROGATE estimates it.
    """

    prepare: Callable[[Task, Any], Job[Any]]
    rows_once: bool = False
    is_alone: bool = False
    moves_few_features: bool = False
    is_predicted_on_trees: bool = False
    is_on_margin: bool = False
    leaves_out_additive: bool = False
    is_quadratic_on_trees: bool = False
    unread_prediction: Callable[[Any], str | None] = _none
    sample_shares: tuple[int, ...] = ()
    has_small_samples: bool = False
    with_intervals: Callable[[Any], Options] = _same
    rehearsing: Callable[[Any], Rehearsing]
    is_count_exact: Callable[[Any], bool] = lambda _options: True
    costliest: Callable[[Any, int, int], Options] = _same_for_outputs
    seconds: Callable[[BoundRequest, Job[Any]], float | None] = _no_seconds
    answer_bytes: Callable[[BoundRequest, Job[Any], Callable[[Any], int]], int | None] = _no_bytes
    fewer_repetitions: Callable[[Any, Job[Any]], Sequence[Options]] = _no_options
    repetitions: Callable[[Job[Any]], tuple[Repetitions, ...]] = _no_repetitions
    changes: Callable[[Any], Iterator[Change]] = _no_changes
    warm_up: tuple[Mapping[str, Any], ...] = ({},)
    resamples_rows: Callable[[Any], bool] = lambda _options: False
    single_features: Callable[[Any, Sequence[str]], Collection[str]] = _no_features
    is_warm_after_one: bool = False
    has_estimate: bool = False


def to_its_end(_options: Any) -> Rehearsing:
    """Return the way of a method that does little beside predicting."""
    return Rehearsing.TO_ITS_END


def halvings(count: int, least: int) -> Iterator[int]:
    """Yield a half and a quarter of a count, as far as they are no less than `least`."""
    yield from (count // divisor for divisor in (2, 4) if count // divisor >= least)


def preparation(method: Method) -> Preparation:
    """Return the preparation of a method."""
    return cast("Preparation", method.module_in(_ROOM).PREPARATION)


def preparation_of(options: Options) -> Preparation:
    """Return the preparation of the method that has these options."""
    return preparation(method_of(options))


def choose_scale(question: Question, scales: Collection[Scale]) -> Scale:
    """Choose the scale of the predictions.

    It is MARGIN where the request names no scale, the model has one, and all methods explain the
    model's own outputs there by default; else that of the question.

    Parameters
    ----------
    scales : collection of Scale
        Those of the model.
    """
    if question.is_scale_asked or question.prediction or Scale.MARGIN not in scales:
        return question.scale
    declared = [preparation_of(options).is_on_margin for options in question.methods]
    return Scale.MARGIN if declared and all(declared) else question.scale
