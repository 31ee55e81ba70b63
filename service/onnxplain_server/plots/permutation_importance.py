"""Permutation importance as bars with error bars for the randomness of shuffling."""

from __future__ import annotations

import numpy as np

from onnxplain_server.methods import partial_dependence
from onnxplain_server.methods.losses import is_score
from onnxplain_server.methods.permutation_importance import Result
from onnxplain_server.plots.claims.directions import of_outputs
from onnxplain_server.plots.drawing import Drawing
from onnxplain_server.plots.elements.chart import Plot, finish
from onnxplain_server.plots.elements.labels import clean, enumerate_words, shorten
from onnxplain_server.plots.elements.number_formats import drawable
from onnxplain_server.plots.marks.bars import Bars, BarTitles, ErrorBars, draw
from onnxplain_server.plots.marks.ranking import by_sum, counts, each, finding, strongest
from onnxplain_server.plots.units.naming import spoken
from onnxplain_server.plots.units.prediction_units import TOTAL, units_of
from onnxplain_server.plots.units.shown_losses import ShownLoss

_TITLE = "Permutation importance"
DIRECTIONS_READ = (
    "▲ ▼ the average prediction rises, or falls, along the feature; without: both, or unknown"
)


def plots(result: Result, curves: partial_dependence.Result | None = None) -> tuple[Plot, ...]:
    """Draw one plot, "permutation-importance"; none if nothing was shuffled.

    Parameters
    ----------
    curves : partial dependence or None
        Tells the directions of features.
    """
    if not result.importances:
        return ()
    loss = _shown(result)
    before, values = result.baseline_losses, np.array([one.values for one in result.importances])
    errors = np.array([one.standard_errors for one in result.importances])
    errors = loss.increase_errors(before, values, errors)
    values = loss.increases(before, values)
    bars = strongest(
        [importance.features for importance in result.importances],
        values,
        result.output_names,
        joint=" + ",
        errors=ErrorBars(values - errors, values + errors),
        directions=None
        if curves is None
        else of_outputs(curves, [one.features for one in result.importances], result.output_names),
    )
    infinite = _infinite(result)
    remarks = [*infinite, _baseline(result, bars), *_error_remarks(bars)]
    remarks += [] if bars.directions is None else [DIRECTIONS_READ]
    remarks += counts(_noun(result), bars, len(result.output_names))
    strongest_bars = f"of those with a bar, {finding(bars)}" if infinite else finding(bars)
    outputs = spoken(bars.outputs, len(result.output_names))
    title = _TITLE if bars.outputs == (TOTAL,) else f"{_TITLE} for {outputs}"
    sentences = [f"{title}: {strongest_bars}", _axis_title(result), *remarks]
    description = " ".join(f"{sentence}." for sentence in sentences)
    noun = "fall of the score" if is_score(result.loss) else "increase of the loss"
    body = draw(bars, BarTitles("shuffled", noun), _axis_title(result))
    return (finish("permutation-importance", title, remarks, description, body),)


def ranked_features(result: Result) -> list[str]:
    """Return the features in the order of the plot, without a limit."""
    values = np.array([one.values for one in result.importances])
    increases = _shown(result).increases(result.baseline_losses, values)
    order = by_sum(drawable(increases))
    return [*dict.fromkeys(name for at in order for name in result.importances[at].features)]


def _shown(result: Result) -> ShownLoss:
    return ShownLoss.of(result.loss, result.output_names, is_share=result.normalize)


def _noun(result: Result) -> str:
    grouped = any(len(importance.features) > 1 for importance in result.importances)
    return "entry" if grouped else "feature"


def _axis_title(result: Result) -> str:
    loss = _shown(result)
    change = loss.change
    increase = f"{change[0].upper()}{change[1:]} after shuffling"
    if result.normalize:
        return f"{increase}, as a share of that before"
    unit = loss.unit(result.output_names, units_of(result.output_names))
    return f"{increase} ({unit})"


def _baseline(result: Result, bars: Bars) -> str:
    loss = _shown(result)
    baseline = loss.values(result.baseline_losses[list(bars.columns)])
    name = loss.heading(result.output_names)
    return f"{name} before shuffling: {each(bars.outputs, baseline, baseline)}"


def _error_remarks(bars: Bars) -> list[str]:
    """Return remarks that explain error bars and negative bars."""
    has_errors = bars.errors is not None and np.isfinite(bars.errors.high).any()
    remarks = (
        ["Lines: ± 1 standard error from shuffling anew; another table would add its own"]
        if has_errors
        else ["Shuffled once, so how far chance moves the bars is not known"]
    )
    has_negative = (bars.values[np.isfinite(bars.values)] < 0).any()
    return remarks + (["Below 0: predictions got better, by chance"] if has_negative else [])


def _infinite(result: Result) -> list[str]:
    """Return a remark on infinite importances, which have no bar."""
    names = [
        shorten(" + ".join(map(clean, importance.features)))
        for importance in result.importances
        if np.isposinf(importance.values).any()
    ]
    more = [f"{len(names) - 3} more"] if len(names) > 3 else []
    return [f"Infinite, without a bar: {enumerate_words([*names[:3], *more])}"] if names else []


DRAWING = Drawing(plots=plots, beside="partial_dependence")
