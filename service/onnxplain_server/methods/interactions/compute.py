r"""Computation of the H-statistics of Friedman and Popescu, with resampling and tests.

Friedman and Popescu (2008), "Predictive Learning via Rule Ensembles", Annals of
Applied Statistics 2(3), 916-954, section 8.1. doi:10.1214/07-AOAS148

F is partial dependence at the rows' own values, centred to weighted mean zero, f the centred
prediction, and each sum a weighted mean over rows:

    H²      =  Σ (f − Σ_j F_j)²  /  Σ f²
    H²_j    =  Σ (f − F_j − F_\j)²  /  Σ f²
    H²_jk   =  Σ (F_jk − F_j − F_k)²  /  Σ F_jk²
    H²_jkl  =  Σ (F_jkl − F_jk − F_jl − F_kl + F_j + F_k + F_l)²  /  Σ F_jkl²
    importance_j  =  Σ (f − F_\j)²  /  Σ f²
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Matrix
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.engine import Effects, RowEffects
from onnxplain_server.effects.quantiles import to_bin_midpoints
from onnxplain_server.methods.interactions.grouped_effects import GroupedEffects
from onnxplain_server.methods.interactions.measurement_plan import Plan
from onnxplain_server.methods.interactions.options import Options
from onnxplain_server.methods.interactions.pair_choice import pair_limit
from onnxplain_server.methods.interactions.permutation_test import PermutationTest
from onnxplain_server.methods.interactions.presentation import Presentation
from onnxplain_server.methods.interactions.result import Result
from onnxplain_server.methods.interactions.streamed_measurement import (
    StreamedMeasurement,
    joint_passes,
)
from onnxplain_server.methods.interactions.weighted_measurement import WeightedMeasurement
from onnxplain_server.methods.resampling import Replicates, RowUnits, replicate
from onnxplain_server.trees.streaming.engine import StreamedTrees


def approximate(features: Features, options: Options) -> Features:
    """Replace dense numeric features by midpoints of quantile bins, if requested."""
    if not options.quantile_bin_count:
        return features
    columns = list(features.columns)
    for j, name in enumerate(features.names):
        if name in options.features and columns[j].dtype != object:
            binned = to_bin_midpoints(columns[j], options.quantile_bin_count)
            columns[j] = np.rint(binned) if features.is_whole(j) else binned
    return replace(features, columns=tuple(columns))


def grouped(effects: Effects, options: Options) -> RowEffects:
    """Return an engine's effects, with groups of features as one feature each."""
    if not options.groups:
        return effects
    players = options.players(effects.background.features.names)
    has_triples = options.threeway_feature_count > 2
    return GroupedEffects(effects, [*players.values()], has_triples=has_triples)


def cost(effects: RowEffects, options: Options) -> int:
    """Return an upper bound of the number of rows to predict."""
    plan = _plan(effects, options)
    single = sum(effects.cost((j,)) for j in plan.positions)
    batches = effects.batch_count(options.resampling.repeat_count)
    for_pairs = effects.for_joint(plan.order)
    screen = plan.screen(for_pairs)
    joint = plan.joint_bound(for_pairs)
    return len(effects.background) + batches * (single + joint) + (screen.cost if screen else 0)


def for_joint(effects: RowEffects, options: Options) -> RowEffects:
    """Return the engine on the rows on which pairs and triples are computed."""
    return effects.for_joint(_plan(effects, options).order)


def compute(
    effects: RowEffects,
    options: Options,
    seed: int,
    actual: Matrix | None = None,
    units: RowUnits | None = None,
) -> Result:
    """Compute the statistics of every requested order.

    Parameters
    ----------
    effects : RowEffects
        As `grouped` returns them.
    actual : (n, n_outputs)
        True values of the background's rows, if terms are tested; the background must then keep
        every row.
    units : RowUnits, optional
        What replicates draw. Default: single rows.
    """
    units = units or RowUnits(effects.background.source)
    test = None if actual is None else _test(effects, options, seed, actual)
    batch_count = effects.batch_count(options.resampling.repeat_count)
    weights, replicates = effects.background.weights, None
    if options.resampling.repeat_count:
        replicates = replicate(options.resampling, weights, units, seed)
        weights = np.concatenate([weights[None], replicates.weights])
    with np.errstate(over="ignore", invalid="ignore"):  # told by SQUARES_OUT_OF_RANGE
        measure = WeightedMeasurement(effects, _plan(effects, options), test, batch_count)
        for batch in effects.batches(weights):
            measure.run(batch)
        return _presented(effects, options, measure, units, replicates)


def _presented(
    effects: RowEffects,
    options: Options,
    measure: WeightedMeasurement,
    units: RowUnits,
    replicates: Replicates | None,
) -> Result:
    rows, outputs = effects.background, effects.outputs()
    return Presentation(
        _player_names(rows.features.names, options),
        effects.output_names,
        options,
        measure,
        units.effective_count(rows.weights),
        spans=np.ptp(outputs, axis=0),
        replicates=replicates,
    ).result()


def streamed_cost(trees: StreamedTrees, names: Sequence[str], options: Options) -> int:
    """Return an upper bound of the rows that all passes of `compute_streamed` read and evaluate."""
    plan = _streamed_plan(trees, names, options)
    passes = 1 + len(plan.positions) + joint_passes(plan, len(trees.outputs.names))
    return trees.rows.row_count * passes


def compute_streamed(trees: StreamedTrees, names: Sequence[str], options: Options) -> Result:
    """Compute the statistics on a table that is read block by block, without replicates and tests.

    Parameters
    ----------
    names : sequence of str
        Features of the model, in its order.
    """
    measure = StreamedMeasurement(trees, _streamed_plan(trees, names, options))
    measure.run()
    spans = np.zeros(len(trees.outputs.names))
    presented = Presentation(
        names, trees.outputs.names, options, measure, measure.row_count, spans=spans
    )
    return presented.result()


def _plan(effects: RowEffects, options: Options) -> Plan:
    plan = plan_of(effects.background.features.names, options)
    allowance = effects.for_joint(plan.order).pair_allowance
    return _limited(plan, options, allowance, len(effects.output_names))


def _streamed_plan(trees: StreamedTrees, names: Sequence[str], options: Options) -> Plan:
    output_count = len(trees.outputs.names)
    return _limited(plan_of(names, options), options, trees.pair_allowance, output_count)


def _limited(
    plan: Plan, options: Options, allowance: Callable[[], float], output_count: int
) -> Plan:
    """Limit the pairs where the request does not say how many."""
    if options.pairwise_feature_count is not None:
        return plan
    repeats = options.resampling.repeat_count + options.permutation_count
    limit = pair_limit(allowance(), len(plan.positions), output_count, repeats)
    return replace(plan, pair_limit=limit)


def plan_of(names: Sequence[str], options: Options) -> Plan:
    """Build the plan, with counts of pairs and triples capped by the number of features."""
    players = _player_names(names, options)
    considered = players if options.groups else set(options.features)
    positions = [j for j, name in enumerate(players) if name in considered]
    asked = options.pairwise_feature_count
    pairwise = len(positions) if asked is None else min(asked, len(positions))
    threeway = min(options.threeway_feature_count, pairwise)
    return Plan(tuple(positions), pairwise, threeway, options.absolute_threshold)


def _player_names(names: Sequence[str], options: Options) -> Sequence[str]:
    """Return the names of the features, or of those considered with groups in their place."""
    return [*options.players(names)] if options.groups else names


def _test(effects: RowEffects, options: Options, seed: int, actual: Matrix) -> PermutationTest:
    rows = effects.background
    residuals = actual - effects.outputs()
    return PermutationTest(
        options.permutation_count, seed, residuals, rows.weights, lambda: effects.release(0)
    )
