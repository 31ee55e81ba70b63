"""Claims of sentences on losses and importances, beside the numbers of an explanation."""

from __future__ import annotations

import numpy as np
from onnxplain.v1.average_loss_pb2 import AverageLossOptions
from onnxplain.v1.explanation_service_pb2 import Explanation
from onnxplain_server.core.arrays import Array
from onnxplain_server.plots.elements.labels import clean
from told.written import Match, claim, for_output, is_of, is_written, joined, leaders, named

_LOSS_WORDS = {
    "SQUARED_ERROR": "mean squared error",
    "ABSOLUTE_ERROR": "mean absolute error",
    "POISSON": "mean poisson deviance",
    "GAMMA": "mean gamma deviance",
    "LOGLOSS": "mean log loss",
    "MLOGLOSS": "mean multi-class log loss",
    "PINBALL": "mean pinball loss",
    "MAPE": "mean absolute percentage error",
    "ACCURACY": "accuracy",
    "BALANCED_ACCURACY": "balanced accuracy",
    "F1": "f1 score",
    "AUC": "area under the roc curve",
    "NDCG": "ndcg",
    "PAIRWISE_ACCURACY": "pairwise accuracy",
}
_ORDERS = {"NDCG", "PAIRWISE_ACCURACY"}
_THRESHOLDS = {"ACCURACY", "BALANCED_ACCURACY", "F1"}


def _loss(options: AverageLossOptions) -> str:
    return AverageLossOptions.Loss.Name(options.loss)


def _words(options: AverageLossOptions, *, is_root: bool) -> str:
    """The name of a loss, in lower case, with the parameter that tells it from others."""
    loss = _loss(options)
    words = _LOSS_WORDS[loss]
    if is_root:
        return f"root {words}"
    if loss == "PINBALL":
        return f"{words} (quantile {np.format_float_positional(options.quantile, trim='-')})"
    if loss == "NDCG" and options.HasField("rank_count"):
        return f"{words} (first {options.rank_count:,})"
    if loss in _THRESHOLDS and options.HasField("threshold") and options.threshold != 0.5:
        threshold = np.format_float_positional(options.threshold, trim="-")
        return f"{words} (threshold {threshold.replace('-', '−')})"
    return words


def is_root(explanation: Explanation) -> bool:
    """Tell whether losses are squared errors, of which roots are told; but not of sums."""
    method = explanation.WhichOneof("result")
    options = getattr(explanation.options, method)
    outputs = list(getattr(explanation, method).output_names)
    is_share = getattr(options, "normalize", False)
    is_squared = not options.loss_expression and _loss(options) == "SQUARED_ERROR"
    return is_squared and outputs != ["total"] and not is_share


def _losses(explanation: Explanation) -> tuple[Array, Array]:
    """The losses that sentences tell, and those of the best constant."""
    result = explanation.average_loss
    told, constant = (
        np.array([one.values for one in result.losses]),
        np.array(result.constant_losses),
    )
    return (np.sqrt(told), np.sqrt(constant)) if is_root(explanation) else (told, constant)


def r_squared(found: Match, explanation: Explanation) -> bool:
    result = explanation.average_loss
    if len(result.losses) != 1 or len(result.constant_losses) != 1:
        return False
    own, constant = result.losses[0].values[0], result.constant_losses[0]
    roots = np.sqrt([own, constant])
    is_squared = _loss(explanation.options.average_loss) == "SQUARED_ERROR" and constant > 0
    return (
        is_squared
        and is_written(found["r2"], 1 - own / constant, [1.0])
        and (found["r2"] != "1" or own <= 1e-12 * constant)
        and found["of"] == clean(result.output_names[0])
        and all(is_written(found[n], v, roots) for n, v in zip("ab", roots, strict=True))
    )


def maybe_trained(found: Match, explanation: Explanation) -> bool:
    """Check that these are the rows of a loss of all rows."""
    losses = explanation.average_loss.losses
    count = f"{explanation.rows.used_row_count:,}"
    return len(losses) == 1 and not losses[0].group and (found["rows"] or "1") == count


def beside_constant(found: Match, explanation: Explanation) -> bool:
    result = explanation.average_loss
    if len(result.losses) != 1 or len(result.constant_losses) != 1:
        return False
    (own,), constant = _losses(explanation)
    pair = np.array([*own, *constant])
    options = explanation.options.average_loss
    words = _words(options, is_root=is_root(explanation))
    is_named = found["name"].lower().startswith(words)
    is_of_order = found["yardstick"] == "a random order"
    return (
        is_named
        and is_of_order == (_loss(options) in _ORDERS)
        and is_of(found["name"], result.output_names)
        and all(is_written(found[n], v, pair) for n, v in zip("ab", pair, strict=True))
    )


def alone(found: Match, explanation: Explanation) -> bool:
    if not explanation.HasField("average_loss"):
        return False
    losses, _ = _losses(explanation)
    return losses.size == 1 and is_written(found["a"], losses[0, 0])


def only_loss(found: Match, explanation: Explanation) -> bool:
    result = explanation.average_loss
    if len(result.losses) != 1:
        return False
    (values,), _ = _losses(explanation)
    columns = for_output(found, result.output_names)
    worst = {
        "highest": values.max(),
        "higher": values.min(),
        "lowest": values.min(),
        "lower": values.max(),
    }
    claim = found["worst"]
    if claim in {"each", None}:
        return all(is_written(found["a"], value, values) for value in values)
    at = [k for k in range(len(values)) if values[k] == worst[claim]]
    is_named = bool({*at} & {*columns}) if "output" in found.groupdict() else True
    return is_named and is_written(found["a"], worst[claim], values)


def groups(found: Match, explanation: Explanation) -> bool:
    result = explanation.average_loss
    if not result.losses:
        return False
    values, _ = _losses(explanation)
    groups = [clean(one.group) for one in result.losses]
    for k in for_output(found, result.output_names) if len(values) > 1 else ():
        own = values[:, k]
        if "g" not in found.groupdict():
            if all(is_written(found["a"], value, own) for value in own):
                return True
        elif (
            is_written(found["a"], own.min(), own)
            and is_written(found["b"], own.max(), own)
            and own[groups.index(found["g"])] == own.min()
            and own[groups.index(found["h"])] == own.max()
        ):
            return True
    return False


def _importances(explanation: Explanation) -> tuple[list[str], Array, Array]:
    importances = explanation.permutation_importance.importances
    names = [joined(one.features, " + ") for one in importances]
    values = np.array([one.values for one in importances])
    errors = np.nan_to_num(np.array([one.standard_errors for one in importances]))
    return names, values, errors


def _rows_told(found: Match, explanation: Explanation) -> bool:
    text = found["rows"]
    return text is None or text == f"{explanation.rows.used_row_count:,}"


def shuffled(found: Match, explanation: Explanation) -> bool:
    """Check what worsens predictions most: its name, how much beside others, the loss before."""
    names, values, errors = _importances(explanation)
    result = explanation.permutation_importance
    before = np.array(result.baseline_losses)
    return bool(names) and _rows_told(found, explanation) and any(
        claim(found["names"], (found["a"], found["b"] or found["a"]), names, values[:, k],
               errors[:, k], conjunction="or")
        and is_written(found["before"], before[k], before)
        for k in for_output(found, result.output_names)
    )  # fmt: skip


def shuffled_root(found: Match, explanation: Explanation) -> bool:
    """Check the same of roots of squared errors: of the loss before, and of the sums after."""
    names, values, errors = _importances(explanation)
    if not names or not _rows_told(found, explanation):
        return False
    result = explanation.permutation_importance
    one = clean(result.output_names[0]) if len(result.output_names) == 1 else "the output"
    if not is_root(explanation) or (found["unit"] not in {one, None} and "…" not in found["unit"]):
        return False
    for k in for_output(found, result.output_names):
        squares = np.maximum(result.baseline_losses[k] + np.array([0, *values[:, k]]), 0)
        roots = np.sqrt(squares)
        with np.errstate(all="ignore"):
            own = np.nan_to_num(errors[:, k] / (2 * roots[1:]), posinf=0)
        leading = leaders(roots[1:] - roots[0], own)
        if not leading:
            continue
        ends = [roots[1 + at] for at in (leading[-1:] + leading[:1])]
        if (
            named([names[at] for at in leading], found["names"], "or")
            and is_written(found["before"], roots[0], roots)
            and all(is_written(text, v, roots) for text, v in zip(
                (found["a"], found["b"] or found["a"]), ends, strict=True))
        ):  # fmt: skip
            return True
    return False


def no_harm(found: Match, explanation: Explanation) -> bool:
    names, values, errors = _importances(explanation)
    if "a" not in found.groupdict():
        return bool(names) and bool((values <= 0).all())
    return bool(names) and any(
        is_written(found["a"], values[:, k].max(), values)
        and not leaders(values[:, k], errors[:, k])
        for k in for_output(found, explanation.permutation_importance.output_names)
    )
