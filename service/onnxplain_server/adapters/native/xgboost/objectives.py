"""Objectives of XGBoost: the link behind scores, and its inverse, by which base scores are kept.

A file keeps `base_score` on the scale of predictions, in all versions since 1.0, and XGBoost takes
the inverse of the link when it loads it. Source: `PredTransform` and `ProbToMargin` in
src/objective of XGBoost 1.0 to 3.4.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from onnxplain_server.adapters.native.faults import invalid, quoted, unsupported
from onnxplain_server.adapters.native.forest import Link
from onnxplain_server.core.arrays import Array, Vector


class XGBoostObjective(NamedTuple):
    """Link of an objective.

    Attributes
    ----------
    link : Link
    to_score : callable
        Base scores as in the file, float32, to what is added to the sums.
    """

    link: Link
    to_score: Callable[[Array], Array]


def _same(values: Array) -> Array:
    return values


def _logit(values: Array) -> Array:
    if not np.all((values > 0) & (values < 1)):
        raise invalid("The model's base_score is no probability between 0 and 1.")
    one = np.float32(1)
    scores: Array = -np.log(one / values - one)
    return scores


def _log(values: Array) -> Array:
    if not np.all(values > 0):
        raise invalid("The model's base_score is not above 0, so it has no logarithm.")
    scores: Array = np.log(values)
    return scores


_RAW_SCORES = (1, 3)
"""First version that takes the base score of binary:logitraw as a score, not as a probability."""
_SORTED_QUANTILES = (3, 4)
"""First version that sorts the quantiles of a row, so that they do not cross."""

_PLAIN = XGBoostObjective(Link.IDENTITY, _same)
_EXPONENTIAL = XGBoostObjective(Link.EXPONENTIAL, _log)
_OBJECTIVES = {
    "reg:squarederror": _PLAIN,
    "reg:linear": _PLAIN,
    "reg:squaredlogerror": _PLAIN,
    "reg:absoluteerror": _PLAIN,
    "reg:pseudohubererror": _PLAIN,
    "reg:quantileerror": _PLAIN,
    "reg:expectileerror": _PLAIN,
    "reg:logistic": XGBoostObjective(Link.LOGISTIC, _logit),
    "reg:gamma": _EXPONENTIAL,
    "reg:tweedie": _EXPONENTIAL,
    "count:poisson": _EXPONENTIAL,
    "binary:logistic": XGBoostObjective(Link.TWO_CLASSES, _logit),
    "binary:logitraw": _PLAIN,
    "binary:hinge": XGBoostObjective(Link.SIGN, _same),
    "multi:softprob": XGBoostObjective(Link.SOFTMAX, _same),
    "multi:softmax": XGBoostObjective(Link.SOFTMAX, _same),
    "rank:pairwise": _PLAIN,
    "rank:ndcg": _PLAIN,
    "rank:map": _PLAIN,
    "survival:cox": _EXPONENTIAL,
    "survival:aft": _EXPONENTIAL,
}


def find_objective(name: str, target_count: int, version: tuple[int, ...]) -> XGBoostObjective:
    """Find an objective by its name in the file and the version that saved it.

    Raises
    ------
    ExplainError
        UNSUPPORTED_MODEL for others.
    """
    objective = _OBJECTIVES.get(name)
    if objective is None or (name == "reg:expectileerror" and target_count > 1):
        known = ", ".join(sorted(_OBJECTIVES))
        raise unsupported(
            f"The model has the objective {quoted(name)} with {target_count:,} outputs, whose link "
            f"is not known here. Known are {known} (reg:expectileerror with one output)."
        )
    if name == "binary:logistic" and target_count > 1:
        return objective._replace(link=Link.LOGISTIC)  # several labels, each by itself
    if name == "reg:quantileerror" and version >= _SORTED_QUANTILES and target_count > 1:
        return objective._replace(link=Link.SORTED)
    if name == "binary:logitraw" and version < _RAW_SCORES:
        return objective._replace(to_score=_logit)
    return objective


def base_values(text: str, count: int, objective: XGBoostObjective) -> Vector:
    """Read a base score, a number or since 3.1 a list, and return one value for each score.

    Raises
    ------
    ExplainError
        INVALID_MODEL
    """
    parts = text.strip().removeprefix("[").removesuffix("]").split(",")
    try:
        numbers = [float(part) for part in parts]
    except ValueError:
        raise invalid(f"The model's base_score is {quoted(text)}, which is no number.") from None
    if len(numbers) not in {1, count}:
        raise invalid(f"The model's base_score has {len(numbers)} values for {count} outputs.")
    scores = objective.to_score(np.array(numbers, dtype=np.float32))
    return np.broadcast_to(scores.astype(np.float64), (count,))
