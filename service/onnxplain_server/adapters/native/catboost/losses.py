"""Losses of CatBoost: the link behind scores, and the labels of classes.

Predictions are those of CatBoostClassifier.predict_proba, CatBoostRegressor.predict and
CatBoostRanker.predict: only Poisson and Tweedie have an exponential link.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import orjson

from onnxplain_server.adapters.native.faults import invalid, quoted, unsupported
from onnxplain_server.adapters.native.fields import Fields
from onnxplain_server.adapters.native.forest import Labels, Link

_LINKS = {
    "Logloss": Link.TWO_CLASSES,
    "CrossEntropy": Link.TWO_CLASSES,
    "Focal": Link.TWO_CLASSES,
    "MultiClass": Link.SOFTMAX,
    "MultiClassOneVsAll": Link.ONE_VERSUS_REST,
    "MultiLogloss": Link.LOGISTIC,
    "MultiCrossEntropy": Link.LOGISTIC,
    "Poisson": Link.EXPONENTIAL,
    "Tweedie": Link.EXPONENTIAL,
}
_PLAIN = frozenset(
    {
        *("RMSE", "MAE", "MAPE", "RMSPE", "Lq", "Huber", "Expectile", "LogCosh"),
        *("Quantile", "GroupQuantile", "MultiQuantile", "LogLinQuantile"),
        *("MultiRMSE", "MultiRMSEWithMissingValues", "SurvivalAft", "Cox"),
        *("YetiRank", "YetiRankPairwise", "PairLogit", "PairLogitPairwise", "LambdaMart"),
        *("QueryRMSE", "QuerySoftMax", "QueryCrossEntropy", "StochasticFilter", "StochasticRank"),
    }
)
"""Losses whose score is the prediction."""
_CLASSES = frozenset({"Logloss", "CrossEntropy", "Focal", "MultiClass", "MultiClassOneVsAll"})
"""Losses of classes of which a row has one."""


class CatBoostLoss(NamedTuple):
    """Link of a loss, and the labels of its classes, empty where the file has none."""

    link: Link
    labels: Labels


def read_loss(info: Fields, target_count: int) -> CatBoostLoss:
    """Read the loss from `model_info`.

    Raises
    ------
    ExplainError
        INVALID_MODEL, or UNSUPPORTED_MODEL for losses whose predictions are not known.
    """
    name = _name(info)
    if name not in _LINKS and name not in _PLAIN:
        known = ", ".join(sorted(_PLAIN | _LINKS.keys()))
        raise unsupported(
            f"The model has the loss {quoted(name)}, whose predictions are not known. "
            f"Known are {known}."
        )
    link = _LINKS.get(name, Link.IDENTITY)
    if link is Link.TWO_CLASSES and target_count != 1:
        raise invalid(f"The model has {target_count:,} values in a leaf, and the loss {name} one.")
    if name not in _CLASSES:
        return CatBoostLoss(link, ())
    return CatBoostLoss(link, _labels(info, 2 if link is Link.TWO_CLASSES else target_count))


def _name(info: Fields) -> str:
    """Return the loss; a sum of models keeps it as JSON in a text."""
    if "params" in info:
        return info.child("params").child("loss_function").text("type")
    try:
        return Fields(orjson.loads(info.text("loss_function")), "loss_function").text("type")
    except orjson.JSONDecodeError:
        raise info.fault("loss_function", "is broken JSON") from None


def _labels(info: Fields, count: int) -> Labels:
    """Read the names of classes, empty where the file has none; whole numbers stay numbers."""
    names = info.child("class_params").items("class_names") if "class_params" in info else []
    if not names:
        return ()
    if len(names) != count:
        raise invalid(f"The model has {len(names):,} class_names for {count:,} classes.")
    if all(isinstance(name, int | float) and _is_whole(name) for name in names):
        return tuple(int(name) for name in names)
    return tuple(_text(name) for name in names)


def _is_whole(value: float) -> bool:
    is_truth = isinstance(value, bool)
    return not is_truth and math.isfinite(value) and value == int(value) and abs(value) < 2**53


def _text(name: object) -> str:
    if not isinstance(name, str | bool | int | float):
        raise invalid("The model has a class whose name is neither text nor number.")
    return str(name)
