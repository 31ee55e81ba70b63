"""Objectives of LightGBM: the link behind scores.

Source: `ConvertOutput` in src/objective of LightGBM 2.2 to 4.7.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import NamedTuple

from onnxplain_server.adapters.native.faults import invalid, quoted, unsupported
from onnxplain_server.adapters.native.forest import Link


class LightGBMObjective(NamedTuple):
    """Link of an objective.

    Attributes
    ----------
    link : Link
    factor : float
        Of scores, before the link.
    """

    link: Link
    factor: float = 1.0


_SINGLE = {
    **dict.fromkeys(
        ("regression", "regression_l1", "huber", "fair", "quantile", "mape"), Link.IDENTITY
    ),
    **dict.fromkeys(("lambdarank", "rank_xendcg"), Link.IDENTITY),
    **dict.fromkeys(("poisson", "gamma", "tweedie"), Link.EXPONENTIAL),
    **dict.fromkeys(("cross_entropy", "xentropy"), Link.LOGISTIC),
    **dict.fromkeys(("cross_entropy_lambda", "xentlambda"), Link.SOFTPLUS),
    "binary": Link.TWO_CLASSES,
}
_SEVERAL = {"multiclass": Link.SOFTMAX, "multiclassova": Link.ONE_VERSUS_REST}
_SQUARED = frozenset({"regression", "regression_l1", "fair", "quantile", "mape"})
"""Objectives that obey `reg_sqrt`: they learn the root of the target, and square it again."""
_SCALED = frozenset({"binary", "multiclassova"})
"""Objectives with a parameter `sigmoid`."""


def read_objective(text: str, score_count: int) -> LightGBMObjective:
    """Read the objective of a file, like "binary sigmoid:1".

    Raises
    ------
    ExplainError
        UNSUPPORTED_MODEL for one that is not known, INVALID_MODEL for other parameters than its
        own, or where the number of scores is not that of its classes.
    """
    name, *words = text.split() or ["custom"]
    if name == "custom":
        return LightGBMObjective(Link.IDENTITY)
    if name not in _SINGLE | _SEVERAL:
        known = ", ".join(sorted(_SINGLE | _SEVERAL))
        raise unsupported(
            f"The model has the objective {quoted(name)}, whose predictions are not known. "
            f"Known are {known}."
        )
    parameters = dict(word.partition(":")[::2] for word in words)
    _check_count(name, parameters, score_count)
    if "sqrt" in parameters and name in _SQUARED:
        return LightGBMObjective(Link.SIGNED_SQUARE)
    link = (_SINGLE | _SEVERAL)[name]
    return LightGBMObjective(link, _sigmoid(parameters) if name in _SCALED else 1.0)


def _check_count(name: str, parameters: Mapping[str, str], score_count: int) -> None:
    expected = parameters.get("num_class", "") if name in _SEVERAL else "1"
    if expected != str(score_count):
        raise invalid(
            f"The model has the objective {quoted(name)} for {quoted(expected)} outputs, and "
            f"{score_count:,} trees in each iteration."
        )


def _sigmoid(parameters: Mapping[str, str]) -> float:
    text = parameters.get("sigmoid", "1")
    try:
        factor = float(text)
    except ValueError:
        factor = math.nan
    if not 0 < factor < math.inf:
        raise invalid(f"The model's objective has the sigmoid {quoted(text)}, no positive number.")
    return factor
