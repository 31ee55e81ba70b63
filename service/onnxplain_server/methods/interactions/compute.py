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

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Matrix
from onnxplain_server.core.rows import Features
from onnxplain_server.effects.engine import Effects
from onnxplain_server.effects.quantiles import to_bin_midpoints
from onnxplain_server.methods.interactions.options import Options
from onnxplain_server.methods.interactions.permutation_test import PermutationTest
from onnxplain_server.methods.interactions.presentation import Presentation
from onnxplain_server.methods.interactions.result import Result
from onnxplain_server.methods.interactions.streamed_measurement import (
    StreamedMeasurement,
    joint_passes,
)
from onnxplain_server.methods.interactions.weighted_measurement import Plan, WeightedMeasurement
from onnxplain_server.methods.resampling import effective_row_count, replicate
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


def cost(effects: Effects, options: Options) -> int:
    """Return an upper bound of the number of rows to predict."""
    plan = _plan(effects, options)
    single = sum(effects.cost((j,)) for j in plan.positions)
    batches = effects.batch_count(options.resampling.repeat_count)
    joint = plan.joint_bound(effects.for_joint(plan.order))
    return len(effects.background) + batches * (single + joint)


def for_joint(effects: Effects, options: Options) -> Effects:
    """Return the engine on the rows on which pairs and triples are computed."""
    return effects.for_joint(_plan(effects, options).order)


def compute(effects: Effects, options: Options, seed: int, actual: Matrix | None = None) -> Result:
    """Compute the statistics of every requested order.

    Parameters
    ----------
    actual : (n, n_outputs)
        True values of the background's rows, if terms are tested; the background must then keep
        every row.
    """
    test = None if actual is None else _test(effects, options, seed, actual)
    batch_count = effects.batch_count(options.resampling.repeat_count)
    measure = WeightedMeasurement(effects, _plan(effects, options), test, batch_count)
    weights, replicates = effects.background.weights, None
    if options.resampling.repeat_count:
        replicates = replicate(options.resampling, weights, effects.background.source, seed)
        weights = np.concatenate([weights[None], replicates.weights])
    for batch in effects.batches(weights):
        measure.run(batch)
    rows = effects.background
    row_count = effective_row_count(rows.weights)
    names, outputs = rows.features.names, effects.output_names
    presented = Presentation(names, outputs, options, measure, row_count, replicates=replicates)
    return presented.result()


def streamed_cost(trees: StreamedTrees, names: Sequence[str], options: Options) -> int:
    """Return an upper bound of the rows that all passes of `compute_streamed` read and evaluate."""
    plan = plan_of(names, options)
    passes = 1 + len(plan.positions) + joint_passes(plan, len(trees.outputs.names))
    return trees.rows.row_count * passes


def compute_streamed(trees: StreamedTrees, names: Sequence[str], options: Options) -> Result:
    """Compute the statistics on a table that is read block by block, without replicates and tests.

    Parameters
    ----------
    names : sequence of str
        Features of the model, in its order.
    """
    measure = StreamedMeasurement(trees, plan_of(names, options))
    measure.run()
    return Presentation(names, trees.outputs.names, options, measure, measure.row_count).result()


def _plan(effects: Effects, options: Options) -> Plan:
    return plan_of(effects.background.features.names, options)


def plan_of(names: Sequence[str], options: Options) -> Plan:
    """Build the plan, with counts of pairs and triples capped by the number of features."""
    positions = sorted(names.index(name) for name in options.features)
    pairwise = min(options.pairwise_feature_count, len(positions))
    threeway = min(options.threeway_feature_count, pairwise)
    return Plan(tuple(positions), pairwise, threeway, options.absolute_threshold)


def _test(effects: Effects, options: Options, seed: int, actual: Matrix) -> PermutationTest:
    rows = effects.background
    residuals = actual - effects.outputs()
    return PermutationTest(
        options.permutation_count, seed, residuals, rows.weights, lambda: effects.release(0)
    )
