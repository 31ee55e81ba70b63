"""Effects of a cohort: importances, windows of weights, reach and values of what was moved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from onnxplain_server.core.arrays import Vector
from onnxplain_server.effects.background import Background
from onnxplain_server.methods.swarm.cohorts import Cohort
from onnxplain_server.methods.swarm.importance import importance
from onnxplain_server.methods.swarm.options import Options
from onnxplain_server.methods.swarm.perturbation import JointMove
from onnxplain_server.methods.swarm.reach import joint_reach, joint_weights_inside
from onnxplain_server.methods.swarm.result import Effect, Histogram, histogram
from onnxplain_server.methods.swarm.searching import SearchResult


def summarize(
    background: Background,
    options: Options,
    cohort: Cohort,
    results: Sequence[SearchResult],
    moves: Sequence[JointMove],
) -> list[Effect]:
    """Summarize the search results of a cohort, one per feature or group."""
    limit, neutral = options.motion.weight_limit, options.motion.neutral
    distances, drops = np.array([(r.distance, r.drop) for r in results]).T
    importances = importance(distances, drops, limit)
    source = None if cohort.row_index is None else int(background.source[cohort.row_index])
    effects = []
    for i, (name, members) in enumerate(options.players.items()):
        result, move = results[i], moves[i]
        scores, shares = result.curve.windows(window_borders(options))
        columns = [background.features.columns[j] for j in move.features]
        moved = list(move.at(result.best_weight).values())
        effects.append(
            Effect(
                cohort.name,
                name,
                source,
                len(cohort),
                float(importances[i]),
                result,
                scores,
                shares,
                result.curve.similarities(limit),
                _values(background, cohort, move),
                joint_reach(members, columns, moved, cohort.truth.weights),
                joint_weights_inside(columns, move, neutral),
            )
        )
    return effects


def window_borders(options: Options) -> Vector:
    """Return the borders of the windows of weights: (n_windows + 1,)."""
    return np.linspace(0, options.motion.weight_limit, options.resolution.window_count + 1)


def _values(background: Background, cohort: Cohort, move: JointMove) -> Histogram:
    """Count the values of a feature; those of a group have no common axis."""
    if len(move.features) > 1:
        return Histogram(np.zeros(0), np.zeros(0))
    column = background.features.columns[move.features[0]]
    return histogram(column[cohort.rows], background.weights[cohort.rows], background.unit)
