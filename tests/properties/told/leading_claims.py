"""Claims of the sentence on the features that lead, beside importances and curves."""

from __future__ import annotations

import math
import re
from typing import Any

import numpy as np
from onnxplain.v1.explanation_service_pb2 import ExplainResponse, Explanation
from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.report import facts
from told.effect_claims import is_point
from told.trends import has_rows, is_along
from told.written import Match, with_value

PATTERN = (
    r"Leading features by (?P<measure>shuffling|size of effect)(?P<ways>, and "
    r"(?:the average prediction(?: of (?P<output>.+?))?|average predictions) along each"
    r"(?P<some> that has a curve)?)?: (?P<list>.+)\."
)
_MOST = 3


def lead(found: Match, answer: ExplainResponse) -> bool:
    """Tell whether the list is that of the most important features, each with its way."""
    measures = {"shuffling": _shuffled, "size of effect": _sized}
    ranked = [
        names
        for explanation in answer.explanations
        if (names := measures[found["measure"]](explanation))
    ]
    curves = [e for e in answer.explanations if e.HasField("partial_dependence")]
    has_texts = "SINGLE_TEXTS" in [caution.code for caution in facts.warnings(answer)]
    if not ranked or ((found["some"] or not found["ways"]) and not has_texts):
        return False
    if not found["ways"]:
        return found["list"] == ", ".join(map(_named, ranked[0]))
    if not curves:
        return False
    outputs = list(curves[0].partial_dependence.output_names)
    only = clean(outputs[0]) if len(outputs) == 1 else None
    if found["output"] != only:
        return False
    over = {
        curve.features[0]: curve
        for curve in curves[0].partial_dependence.curves
        if len(curve.features) == 1 and not curve.group
    }
    return _are(found["list"], ranked[0], over, outputs)


def _shuffled(explanation: Explanation) -> list[str]:
    own = explanation.permutation_importance.importances
    errors = [[0 if math.isnan(e) else e for e in one.standard_errors] for one in own]
    return _first([(one.features[0], one.values, e) for one, e in zip(own, errors, strict=True)])


def _sized(explanation: Explanation) -> list[str]:
    own = explanation.interactions.importance
    return _first([(one.features[0], one.numerators, [0] * len(one.numerators)) for one in own])


def _first(rows: list[Any]) -> list[str]:
    """Return the names of the largest values, by the output that has the largest of all."""
    finite = [[v if math.isfinite(v) else -math.inf for v in values] for _, values, _ in rows]
    if not finite or max(map(max, finite)) <= 0:
        return []
    best = max(finite, key=max)
    k = best.index(max(best))
    told = sorted(zip(finite, rows, strict=True), key=lambda pair: -pair[0][k])
    return [row[0] for own, row in told if own[k] > max(0, 2 * row[2][k])][:_MOST]


def _are(text: str, names: list[str], curves: dict[str, Any], outputs: list[str]) -> bool:
    """Tell whether a text lists features, each with what its curve does."""
    rest = text
    for name, following in zip(names, [*names[1:], ""], strict=True):
        if not rest.startswith(_named(name)):
            return False
        end = rest.find(f", {_named(following)}") if following else len(rest)
        way, rest = rest[len(_named(name)) : end], rest[end + 2 :]
        if way and not (way[:2] == " (" and way[-1] == ")" and name in curves):
            return False
        if way and not _goes(way[2:-1], curves[name], outputs):
            return False
    return not rest


def _named(name: str) -> str:
    return f"“{clean(name)}”" if ", " in f" {clean(name)} " or "(" in name else clean(name)


def _goes(way: str, curve: Any, outputs: list[str]) -> bool:
    """Tell whether a curve rises or falls, or has its ends where a text says so."""
    values = np.array(curve.values).reshape(-1, len(outputs))
    k = int(np.argmax(values.max(axis=0) - values.min(axis=0)))
    own, told = values[:, k], has_rows(curve, len(values))
    head = f"{clean(outputs[k])} " if len(outputs) > 1 else ""
    if way in {"stays the same", "stay the same"}:
        return bool(np.ptp(own) <= 2e-6 * np.abs(own).max())
    if not np.isfinite(values).all() or not way.startswith(head):
        return False
    way, is_directed = way.removeprefix(head), False
    for word, sign in (("rises", 1), ("falls", -1)):
        is_directed |= is_along(curve, sign * own, told)
        if way == word:
            return is_along(curve, sign * own, told)
    found = re.fullmatch(r"(up and down, )?highest at (.+), lowest at (.+)", way)
    numbers = np.array(curve.grid[0].numbers)
    has_both = numbers.size > 0 and np.count_nonzero(told & np.isfinite(numbers)) > 2
    if is_directed or not found or bool(has_both) != bool(found[1]):
        return False
    ends = ((found[2], own[told].max()), (found[3], own[told].min()))
    return all(
        any(is_point(curve, at, f"{with_value(curve.grid[0].name)}{text}") for at in places)
        for text, end in ends
        for places in [np.flatnonzero(told & (own == end)).tolist()]
    )
