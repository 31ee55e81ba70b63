"""Comparison of two importances: by partial dependence and by permutation, side by side."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.methods import interactions, permutation_importance
from onnxplain_server.methods.option_checks import GROUP_SIGN
from onnxplain_server.plots.claims.leaders import leaders
from onnxplain_server.plots.elements.chart import Plot, finish
from onnxplain_server.plots.elements.labels import short_names
from onnxplain_server.plots.marks.bars import BarTitles, draw
from onnxplain_server.plots.marks.ranking import counts, strongest
from onnxplain_server.plots.units.naming import spoken
from onnxplain_server.plots.units.shown_losses import ShownLoss

_TITLE = "Feature importance, two ways"
_WAYS = ("partial dependence", "permutation")
_MEANINGS = (
    "Partial dependence: size of effects; permutation: how much worse predictions fit",
    "Each is divided by its largest, so only the shapes compare",
)


def compare(
    interaction_result: interactions.Result, permutation_result: permutation_importance.Result
) -> tuple[Plot, ...]:
    """Draw one plot, "importances"; none unless two features have both, and not all are 0.

    Both have the scale of the plots of their own: sizes of effects, √numerator, and changes of the
    loss, of squared errors those of their roots.
    """
    features, values = _common(interaction_result, permutation_result)
    if len(features) < 2 or not (values.max(axis=0) > 0).all():
        return ()
    bars = strongest(features, values / values.max(axis=0), _WAYS)
    finding = _finding(features, values, _errors(permutation_result, features))
    remarks = [finding, *_MEANINGS, *counts("feature", bars, len(_WAYS))]
    names = interaction_result.output_names
    title = f"{_TITLE}, for {spoken(names, len(names))}"
    description = " ".join(f"{sentence}." for sentence in [title, *remarks])
    words = BarTitles("feature", "share of the largest", "importance by")
    body = draw(bars, words, "Importance, as a share of the most important feature's")
    return (finish("importances", title, remarks, description, body),)


def _common(
    interaction_result: interactions.Result, permutation_result: permutation_importance.Result
) -> tuple[list[tuple[str, ...]], Matrix]:
    """Return the features that have both importances, and their sums over outputs: (n, 2)."""
    loss = _shown(permutation_result)
    before = permutation_result.baseline_losses
    losses = {
        _members(i.features): float(loss.increases(before, i.values).sum())
        for i in permutation_result.importances
    }
    is_relative = permutation_result.normalize
    effects = {
        statistic.features: _size(statistic, is_relative=is_relative)
        for statistic in interaction_result.importance
    }
    features = [
        name
        for name in effects
        if _members(name) in losses and np.isfinite([effects[name], losses[_members(name)]]).all()
    ]
    values = np.array([[effects[name], losses[_members(name)]] for name in features])
    return features, values.reshape(-1, len(_WAYS))


def _members(features: Sequence[str]) -> frozenset[str]:
    """Return features of which the names of groups are made, in whatever order they are named."""
    return frozenset(part for name in features for part in name.split(GROUP_SIGN))


def _size(statistic: interactions.Statistic, *, is_relative: bool) -> float:
    squares = statistic.values if is_relative else statistic.numerators
    return float(np.sqrt(squares).sum())


def _shown(result: permutation_importance.Result) -> ShownLoss:
    return ShownLoss.of(result.loss, result.output_names, is_share=result.normalize)


def _errors(
    permutation_result: permutation_importance.Result, features: list[tuple[str, ...]]
) -> Vector:
    """Return upper bounds of the standard errors of the sums over outputs: (n,)."""
    loss, before = _shown(permutation_result), permutation_result.baseline_losses
    errors = {
        _members(i.features): float(loss.increase_errors(before, i.values, i.standard_errors).sum())
        for i in permutation_result.importances
    }
    return np.array([errors[_members(names)] for names in features])


def _finding(features: list[tuple[str, ...]], values: Matrix, errors: Vector) -> str:
    short = short_names((own[0] for own in features), 40)
    first, second = (
        {short[features[place][0]] for place in leaders(own, spread)}
        for own, spread in zip(values.T, (None, errors), strict=True)
    )
    if len(first) != 1 or len(second) != 1:
        return "Not both find one feature more important than all others"
    if first == second:
        return f"Both find {first.pop()} most important"
    return f"Partial dependence finds {first.pop()} most important, permutation {second.pop()}"
