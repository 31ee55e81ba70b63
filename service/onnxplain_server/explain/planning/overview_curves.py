"""Curves of an overview: of which features, at which points, and the surface of which pair."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Array, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.core.table import listed
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.effects.engine import PiecewiseConstant
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.explain.planning.overview import (
    CURVE_COUNT,
    CURVES,
    MOST_CELLS,
    MOST_STEPS,
    SURFACE_GRID,
    OverviewPlan,
)
from onnxplain_server.explain.planning.overview_part import OverviewRole, Part
from onnxplain_server.methods.grids import lay_grids

Results: TypeAlias = Mapping[OverviewRole, Any]
"""Results of an overview by their role, each of the method that the plan has for it."""


def curves_of(plan: OverviewPlan, results: Results, request: BoundRequest) -> Part | None:
    """Return the curves of the most important features, and the surface of the strongest pair."""
    features = most_important(results, plan.drawn_names)
    if not features:
        return None
    if plan.tree_rows is None:
        return plan.curves(features)
    points, by_step = len(features) * (CURVES.grid_size + 1), False
    steps = step_count(request, features)
    if steps is not None and plan.fits(steps):
        points, by_step = steps, True
    pair = strongest_pair(plan, results, request)
    surface = surface_grid(pair, request) if pair else None
    if surface and not plan.fits(points + len(next(iter(surface.values())))):
        surface = None
    return plan.curves(features, by_step=by_step, surface=surface)


def text_notes(plan: OverviewPlan) -> tuple[Note, ...]:
    """Name the features that have no curve, as most of their rows have a text of their own."""
    names = plan.single_texts
    if not names:
        return ()
    message = (
        f"Most rows have a text of their own in {listed(names)}, so there is no curve of "
        f"{'it' if len(names) == 1 else 'them'}. FIRM measures words, as in "
        "contains(column, 'great')."
    )
    return (Note(InputWarning.SINGLE_TEXTS, message),)


def most_important(results: Results, names: Sequence[str]) -> tuple[str, ...]:
    """Return the features with the largest permutation importance, or else by interactions.

    Features of equal importance, or without one, stand in table order.
    """
    values: dict[str, float] = {}
    if OverviewRole.IMPORTANCES in results:
        shuffled = results[OverviewRole.IMPORTANCES].importances
        values = {one.features[0]: _sum(one.values) for one in shuffled}
    elif OverviewRole.PAIRS in results:
        statistics = results[OverviewRole.PAIRS].importance
        values = {one.features[0]: _sum(one.numerators) for one in statistics}
    return tuple(sorted(names, key=lambda name: -values.get(name, 0.0)))[:CURVE_COUNT]


def step_count(request: BoundRequest, features: Sequence[str]) -> int | None:
    """Return the points of curves with one for each step of the model, all curves together.

    None where the model is not constant between steps, or has too many along a feature.
    """
    effects, known = request.effects, request.sample.features
    if not isinstance(effects, PiecewiseConstant):
        return None
    count = 0
    for name in features:
        steps = effects.breakpoints(known.index(name))
        if steps is None or len(steps) > MOST_STEPS - 2:
            return None
        count += len(steps) + 3  # both ends, and a missing value
    return count


def strongest_pair(plan: OverviewPlan, results: Results, request: BoundRequest) -> tuple[str, ...]:
    """Return the pair of the largest interaction, by size; empty without any, or if too large."""
    pairs = results[OverviewRole.PAIRS].pairwise if OverviewRole.PAIRS in results else ()
    sizes = [_sum(pair.numerators) for pair in pairs]
    if not pairs or max(sizes) <= 0:
        return ()
    names, features = pairs[int(np.argmax(sizes))].features, request.sample.features
    columns = [features.columns[features.index(name)] for name in names]
    side = math.isqrt(SURFACE_GRID) + 1
    counts = [len(set(c.tolist())) + 1 if c.dtype == object else side for c in columns]
    is_small = math.prod(counts) <= MOST_CELLS
    return names if is_small and {*names} <= {*plan.drawn_names} else ()


def surface_grid(pair: tuple[str, ...], request: BoundRequest) -> dict[str, Array]:
    """Lay the grid of a surface: the points of two features."""
    options = replace(CURVES, features=(pair,), grids=(None,), grid_size=SURFACE_GRID)
    path = "partial_dependence"
    (grid,) = lay_grids(request.effects, request.sample.population, options, path)
    return dict(zip(pair, grid, strict=True))


def _sum(values: Vector) -> float:
    return float(np.where(np.isnan(values), 0.0, values).sum())
