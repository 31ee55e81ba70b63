"""Claims of sentences on a swarm, beside its effects."""

from __future__ import annotations

import math

import numpy as np
from onnxplain.v1.explanation_service_pb2 import Explanation
from onnxplain.v1.swarm_pb2 import SwarmEffect
from onnxplain_server.plots.elements.labels import clean
from told.written import Match, number


def moved(found: Match, explanation: Explanation) -> bool:
    """Check the most harmful move: its weight, both scores, and the share that leaves the data."""
    result = explanation.swarm
    harms = [e.importance if math.isfinite(e.importance) else -math.inf for e in result.effects]
    is_score = bool(explanation.options.swarm.score)
    if is_score is (found["verb"] == "raises") or is_score is ("average loss" in found["measured"]):
        return False
    return any(
        effect.importance == max(harms)
        and found["names"] in _names(effect)
        and _is_weight(float(found["weight"] or found["noise"]), effect)
        and math.isclose(number(found["a"]), effect.best_score, rel_tol=6e-4)
        and math.isclose(number(found["before"]), result.baseline_score, rel_tol=6e-4)
        and _is_share(found["share"], effect.reach.outside_share)
        for effect in result.effects
    )


def _names(effect: SwarmEffect) -> list[str]:
    name = clean(effect.feature)
    if not effect.class_name:
        return [name]
    return [f"{name} in rows of {start}{clean(effect.class_name)}" for start in ("", "class ")]


def _is_weight(weight: float, effect: SwarmEffect) -> bool:
    """Tell whether a weight has the score of the best one, and is that one but for rounding."""
    if effect.HasField("optimum") and not effect.optimum.low <= weight <= effect.optimum.high:
        return False
    digits = 1e-3 if effect.HasField("optimum") else 1e-7
    return math.isclose(weight, effect.best_weight, rel_tol=digits)


def _is_share(text: str | None, share: float) -> bool:
    if text is None:
        return share == 0
    if text == "below 1%":
        return 0 < share < 0.005
    if text == "almost 100%":
        return 0.995 <= share < 1
    return share > 0 and abs(share - int(text[:-1]) / 100) <= 0.00501


def unharmed(found: Match, explanation: Explanation) -> bool:
    """Check that no move does harm."""
    harms = np.array([effect.importance for effect in explanation.swarm.effects])
    return bool(harms.size) and bool((harms <= 0).all())
