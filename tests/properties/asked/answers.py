"""Answers as flat lists of numbers and names, and their comparison but for rounding."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from google.protobuf.message import Message
from onnxplain.v1.explanation_service_pb2 import ExplainResponse

Leaves = Mapping[str, Any]
"""Paths, like "[0].interactions.total.values[1]", to numbers and names."""

NAN_BY_CONTRACT = {
    "attributions.feature_values.numbers": "a missing value of a row",
    "attributions.mean_absolute_values": "rows explained of weight 0",
    "attributions.mean_absolute_standard_errors": "a single row has no spread",
    "permutation_importance.importances.standard_errors": "a single repetition has no spread",
    "partial_dependence.curves.grid.numbers": "the grid point 'missing'",
    "partial_dependence.curves.observed_means": "a point without rows, or another's target",
    "partial_dependence.differences.grid.numbers": "the grid point 'missing'",
    "individual_conditional_expectation.curves.grid.numbers": "the grid point 'missing'",
    "accumulated_local_effects.curves.grid.numbers": "the missing value, where no row has any",
    "accumulated_local_effects.curves.mean_predictions": "no row with a value of each feature",
    "feature_vectors.angles_degrees": "a vector of 0 has no direction",
    "feature_vectors.angle_standard_errors_degrees": "a vector of 0 has no direction",
    "feature_vectors.adjusted_similarity": "a feature below the importance floor, or as by chance",
    "feature_vectors.rank_correlation": "lengths that are all the same have no order",
    "feature_vectors.similarity": "a vector of 0 has no direction",
    "firm.importances.curve.numbers": "the bin of missing values",
    "swarm.similarity": "a class that was not moved",
    "swarm.effects.windows.scores": "a window in which no weight was tried",
    "swarm.effects.windows.class_shares": "a window in which no weight was tried",
}
"""Fields whose comment in the contract says when they are NaN, without a warning."""

NAN_BY_WARNING = {
    **{
        f"interactions.{order}.{part}": {"SQUARES_OUT_OF_RANGE"}
        for order in ("total", "overall", "pairwise", "threeway", "importance")
        for part in ("values", "numerators", "denominators")
    },
    "interactions.mean_squares": {"SQUARES_OUT_OF_RANGE"},
    "permutation_importance.importances.values": {"INFINITE_LOSS", "ZERO_BASELINE"},
    "firm.importances.values": {"FEW_ROWS"},
    "firm.importances.standard_errors": {"FEW_ROWS"},
    "firm.importances.lower": {"FEW_ROWS"},
    "firm.importances.upper": {"FEW_ROWS"},
}
"""Fields that may be NaN beside one of these warnings."""

_WEIGHT = re.compile(
    r"((?<!optimum)\.weight|\.missing_weight|\.values\.counts\[\d+\]|\.(row|bin)_weights\[\d+\])$"
)
"""Total weights, which alone follow the unit of the weight column."""

_UNITS = {
    "numerators": "mean_squares",
    "numerator_errors": "mean_squares",
    "denominators": "mean_squares",
    "score_standard_deviations": "mean_scores",
    **dict.fromkeys(
        (
            *("attributions.values", "attributions.standard_errors", "attributions.interactions"),
            *("additivity_errors", "mean_absolute_values", "mean_absolute_standard_errors"),
        ),
        "predictions",
    ),
    "importances.values": "baseline_losses|mean_scores|score_standard_deviations",
}
"""Numbers that are differences of others: they keep the last digits of these."""


@dataclass(frozen=True)
class Rounding:
    """How far numbers may be apart: relatively, and as a share of the largest of their field."""

    relative: float = 1e-6
    share: float = 1e-7


SUMS = Rounding()
"""Sums in another order."""

FLOAT32 = Rounding(1e-4, 1e-4)
"""Leaves added up in float32 by the runtime, and in float64 by the trees engine."""


def leaves(answer: ExplainResponse) -> dict[str, Any]:
    """Flatten the explanations, without pictures and echoed options."""
    found: dict[str, Any] = {}
    for i, explanation in enumerate(answer.explanations):
        found |= {
            f"[{i}]{path}": value
            for path, value in _flat(explanation)
            if not path.startswith((".plots", ".options"))
        }
    return found


def _flat(message: Message) -> Iterator[tuple[str, Any]]:
    for field in message.DESCRIPTOR.fields:
        value = getattr(message, field.name)
        path = f".{field.name}"
        if field.is_repeated:
            yield f"{path}.count", len(value)
            for i, item in enumerate(value):
                yield from _under(f"{path}[{i}]", item)
        elif not field.has_presence or message.HasField(field.name):
            yield from _under(path, value)


def _under(path: str, value) -> Iterator[tuple[str, Any]]:
    if isinstance(value, Message):
        yield from ((path + below, leaf) for below, leaf in _flat(value))
    else:
        yield path, value


def field_of(path: str) -> str:
    """Name a field without positions: "interactions.total.values"."""
    return re.sub(r"\[\d+\]", "", path).strip(".")


def unexplained_nans(answer) -> set[str]:
    """Fields that are NaN, though neither the contract nor a warning says why."""
    codes = {warning.code for warning in answer.warnings}
    nans = {
        field_of(path)
        for path, value in leaves(answer).items()
        if isinstance(value, float) and math.isnan(value)
    }
    return {
        name
        for name in nans
        if name not in NAN_BY_CONTRACT and not codes & NAN_BY_WARNING.get(name, set())
    }


def differences(
    found: Leaves,
    expected: Leaves,
    rounding: Rounding = SUMS,
    *,
    weight: float = 1.0,
    left_out: Callable[[str], bool] = lambda _field: False,
) -> list[str]:
    """Compare all numbers and names; `weight` is what total weights were multiplied by."""
    ours = {path for path in expected if not left_out(field_of(path))}
    theirs = {path for path in found if not left_out(field_of(path))}
    told = [f"{path}: in one answer only" for path in sorted(ours ^ theirs)]
    scales = _scales(expected)
    for path in sorted(ours & theirs):
        one, other = found[path], expected[path]
        if isinstance(other, float) and _WEIGHT.search(path):
            other *= weight
        if not _same(one, other, rounding, _scale(path, scales)) and not _is_unstable(
            path, expected, scales
        ):
            told.append(f"{path}: {one!r} beside {other!r}")
    return told


def _same(one, other, rounding: Rounding, scale: float) -> bool:
    if not isinstance(other, float):
        return bool(one == other)
    if math.isnan(other) or math.isinf(other):
        return one == other or (math.isnan(other) and math.isnan(one))
    return math.isclose(
        one, other, rel_tol=rounding.relative, abs_tol=rounding.share * scale + 1e-300
    )


def _scales(answer: Leaves) -> dict[str, float]:
    """Largest number of each field."""
    scales: dict[str, float] = {}
    for path, value in answer.items():
        if isinstance(value, float) and math.isfinite(value):
            name = field_of(path)
            scales[name] = max(scales.get(name, 0.0), abs(value))
    return scales


def _scale(path: str, scales: Mapping[str, float]) -> float:
    name = field_of(path)
    others = [
        scale
        for end, unit in _UNITS.items()
        if name.endswith(end)
        for other, scale in scales.items()
        if re.search(rf"\.({unit})$", other)
    ]
    of_ratio = _LEAST_SHARE if name.startswith("interactions") and name.endswith(".values") else 0.0
    return max([scales.get(name, 0.0), of_ratio, *others])


_RATIOS = re.compile(r"\.(values|standard_errors|lower|upper|biases|p_values)(\[\d+\])$")
_LEAST_SHARE = 1e-3


def _is_unstable(path: str, answer: Leaves, scales: Mapping[str, float]) -> bool:
    """Whether a number is a ratio of two that are next to nothing, as the contract warns."""
    ratio = _RATIOS.search(path)
    if ".interactions." not in path or not ratio:
        return False
    denominator = answer.get(path[: ratio.start()] + ".denominators" + ratio[2], 0.0)
    largest = scales.get("interactions.mean_squares", 0.0)
    return bool(denominator < _LEAST_SHARE * largest)
