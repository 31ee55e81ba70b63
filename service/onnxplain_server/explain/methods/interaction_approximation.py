"""Approximation of interactions: interpolation between knots, and warnings about its error."""

from __future__ import annotations

from onnxplain_server.core.model import Note
from onnxplain_server.core.table import listed
from onnxplain_server.core.warnings import MethodWarning
from onnxplain_server.effects.black_box import BlackBox
from onnxplain_server.effects.engine import Effects
from onnxplain_server.effects.interpolated import Interpolated
from onnxplain_server.methods import interactions
from onnxplain_server.methods.interactions.interpolation import doubtful


def approximated(
    effects: Effects, options: interactions.Options
) -> tuple[Effects, tuple[Note, ...]]:
    """Interpolate between knots if requested, unless effects are exact without predicting."""
    if isinstance(effects, BlackBox):
        return (Interpolated(effects, options.knot_count) if options.knot_count else effects), ()
    if options.knot_count:
        return effects, knots_unnecessary(options)
    if options.quantile_bin_count:
        message = (
            "quantile_bin_count was applied, but saves nothing: without it, the engine gives "
            "exact numbers and predicts nothing either."
        )
        return effects, (Note(MethodWarning.APPROXIMATION_UNNECESSARY, message),)
    return effects, ()


def knots_unnecessary(options: interactions.Options) -> tuple[Note, ...]:
    """Warn of knots that were asked of an engine that predicts nothing."""
    if not options.knot_count:
        return ()
    message = "knot_count was not applied: the engine is exact and predicts nothing."
    return (Note(MethodWarning.APPROXIMATION_UNNECESSARY, message),)


def remarks(result: interactions.Result) -> tuple[Note, ...]:
    """Return the warnings about interactions that depend on the result."""
    return (*result.notes, *_coarse_knots_notes(result))


def _coarse_knots_notes(result: interactions.Result) -> tuple[Note, ...]:
    """Warn of statistics for which interpolation between knots may be too coarse."""
    statistics = (result.total, *result.overall, *result.pairwise, *result.threeway)
    names = doubtful(iter((*statistics, *result.importance)))
    if not names:
        return ()
    message = (
        "The estimated error of interpolation exceeds a tenth of the numerators of "
        f"{listed(names)}: raise knot_count, or leave it out."
    )
    return (Note(MethodWarning.KNOTS_TOO_FEW, message),)
