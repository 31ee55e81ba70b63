"""Claims of plots: losses of all rows, and the strongest bars or pairs of one output."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping

import numpy as np
from onnxplain.v1.explanation_service_pb2 import Explanation
from told import attribution_plot_claims
from told.loss_claims import is_root
from told.written import NUMBER, is_written, joined

_STRONGEST = re.compile(
    rf"(\S[^.:,]*?) is strongest at {NUMBER}, then (.+?) at {NUMBER}"
    rf"(?: and (.+?) at {NUMBER})?\.(?: |$)"
)


def faults_of_plot(
    explanation: Explanation, name: str, description: str, *, are_probabilities: bool
) -> Iterator[str]:
    """Tell untrue numbers of the description of a plot."""
    if found := re.search(rf"Over all rows used: {NUMBER}\.", description):
        # A score of all rows is no mean of those of groups.
        losses = [value for one in explanation.average_loss.losses for value in one.values]
        losses = np.sqrt(losses).tolist() if is_root(explanation) else losses
        is_one = len(explanation.average_loss.losses) == 1
        if is_one and not any(is_written(found[1], value) for value in losses):
            yield f"{losses} in the plot {name}: {description}"
    if explanation.HasField("attributions"):
        result = explanation.attributions
        if not attribution_plot_claims.are_true(result, name, description):
            yield f"untrue, in the plot {name}: {description}"
    values = _bars(explanation, name, factor=100 if are_probabilities else 1)
    chain = _STRONGEST.search(description)
    if not values or not chain or "…" in chain[0]:
        return
    finite = np.array([value for value in values.values() if math.isfinite(value)])
    ranked = sorted(finite.tolist(), reverse=True)
    told = [(chain[k], chain[k + 1]) for k in (1, 3, 5) if chain[k]]
    for place, (label, text) in enumerate(told):
        value = values.get(label, math.nan)
        if label in values and not (
            is_written(text, value, finite) and value >= ranked[place] * (1 - 1e-9)
        ):
            yield f"{label} is {value}, of {ranked[:3]}, in the plot {name}: {description}"


def _bars(explanation: Explanation, name: str, *, factor: float) -> Mapping[str, float]:
    """Return the numbers of bars by their names; none for several outputs, and for other plots."""
    bars: dict[str, list[float]] = {}
    if explanation.HasField("permutation_importance"):
        importance = explanation.permutation_importance
        before = np.array(importance.baseline_losses)
        for one in importance.importances:
            values = np.array(one.values)
            if is_root(explanation):
                values = np.sqrt(np.maximum(before + values, 0)) - np.sqrt(before)
            bars[joined(one.features, " + ")] = values.tolist()
    elif name == "attributions-pairs":
        return attribution_plot_claims.mean_interactions(explanation.attributions)
    elif explanation.HasField("interactions") and name not in {"total", "importances"}:
        result = explanation.interactions
        for statistic in getattr(result, name, result.pairwise):
            bars[joined(statistic.features)] = [
                factor * float(np.sqrt(n)) for n in statistic.numerators
            ]
    is_one = all(len(values) == 1 for values in bars.values())
    return {label: values[0] for label, values in bars.items()} if is_one else {}
