"""Attributions of rows: in closed form, from all coalitions, or from random orders."""

from __future__ import annotations

from collections.abc import Callable
from enum import Enum

import numpy as np

from onnxplain_server.core.arrays import Cube, Vector
from onnxplain_server.core.contract_limits import AttributionsOptions
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note
from onnxplain_server.core.warnings import MethodWarning
from onnxplain_server.effects.attributing.games import Attributed, Game, GameValue, Perturbation
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.engine import Effects
from onnxplain_server.methods.attributions.coalitions import (
    attribute_by_coalitions,
    coalition_cost,
)
from onnxplain_server.methods.attributions.explained_rows import ExplainedRows, predict_explained
from onnxplain_server.methods.attributions.options import Options
from onnxplain_server.methods.attributions.permutations import (
    FEW_ORDERS,
    attribute_by_permutations,
    permutation_cost,
)
from onnxplain_server.methods.attributions.result import Result, mean_absolute
from onnxplain_server.methods.attributions.row_strata import RowStrata
from onnxplain_server.trees.streaming.engine import StreamedTrees


class Way(Enum):
    """Way of computing values."""

    CLOSED_FORM = "by the engine"
    AFFINE = "from the effect of each feature alone, as effects add up"
    COALITIONS = "from all coalitions"
    PERMUTATIONS = "from random orders"


# Long: most of it are errors with their remedies.
def choose_way(
    effects: Effects,
    options: Options,
    path: str,
    is_affine: Callable[[], bool],
    way_of_margin: Callable[[], Way | None],
) -> Way:
    """Choose exact values where they cost no more than estimates.

    Parameters
    ----------
    is_affine : callable () -> bool
        Tells whether the outputs are known to be affine functions of the features.
    way_of_margin : callable () -> Way or None
        Tells how values are exact on the scale MARGIN, if the request has another; for errors.

    Raises
    ------
    ExplainError
        INVALID_OPTION where the options need values that this model does not have.
    """
    exact = effects.exact_attributions()
    is_by_paths = options.perturbation is Perturbation.PATH_DEPENDENT
    if exact is not None and (exact.has_paths or not is_by_paths):
        return Way.CLOSED_FORM
    if is_by_paths:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "PATH_DEPENDENT needs a model whose outputs are sums of the leaves of its trees; leave "
            "perturbation out"
            + ", or ask with the scale MARGIN"
            * (way_of_margin() is Way.CLOSED_FORM),
            f"{path}.perturbation",
        )
    if is_affine():
        return Way.AFFINE
    count = len(options.players(effects.background.features.names))
    coalitions = coalition_cost(count, len(effects.background))
    if coalitions <= permutation_cost(count, options.permutation_count):
        return Way.COALITIONS
    if options.order > 1 or options.value is not GameValue.SHAPLEY:
        asked = "order" if options.order > 1 else "value"
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{asked} needs exact values, and those of this model take {coalitions:,} predictions "
            f"for each row: {_allowed(-(-coalitions // (2 * (count - 1))))}take fewer background "
            f"rows or larger groups, {'ask with the scale MARGIN, ' * bool(way_of_margin())}or "
            "leave it out",
            f"{path}.{asked}",
        )
    return Way.PERMUTATIONS


def _allowed(needed: int) -> str:
    """Write the number of orders that would allow all coalitions, where it is no more than any."""
    most = AttributionsOptions.permutation_count.max
    is_possible = most is not None and needed <= most
    return f"allow them by a permutation_count of {needed:,}, " * is_possible


def cost(effects: Effects, options: Options, way: Way, explained_count: int) -> int:
    """Return the number of rows to evaluate."""
    background = len(effects.background)
    count = len(options.players(effects.background.features.names))
    match way:
        case Way.CLOSED_FORM:
            each = 1
        case Way.AFFINE:
            each = count * background
        case Way.COALITIONS:
            each = coalition_cost(count, background)
        case Way.PERMUTATIONS:
            each = permutation_cost(count, options.permutation_count)
    return background + explained_count * (1 + each)


# Long: most of it documents the parameters.
def compute(  # noqa: PLR0917 - arguments of the job
    effects: Effects,
    explained: Background,
    options: Options,
    way: Way,
    weights: Vector,
    seed: int,
) -> Result:
    """Attribute the predictions of rows.

    Parameters
    ----------
    effects : Effects
        On the background.
    explained : Background
        The rows, one by one.
    way : Way
        Of `choose_way`.
    weights : (n_rows,)
        Case weights of the rows explained, for averages over them.
    """
    players = options.players(effects.background.features.names)
    are_given = options.explained_rows is not None
    rows = ExplainedRows.predict(effects, explained, players, are_given=are_given)
    values, interactions, errors = _attribute(rows, options, way, seed)
    return _result(rows, options, weights, Attributed(values, interactions), errors)


def compute_streamed(
    trees: StreamedTrees, effects: Effects, explained: Background, options: Options, weights: Vector
) -> Result:
    """Attribute the predictions of rows by the engine, against all rows of a table in blocks.

    Parameters are those of `compute`; `effects` predicts the rows.
    """
    players = options.players(explained.features.names)
    are_given = options.explained_rows is not None
    predicted = predict_explained(effects, explained, are_given=are_given)
    attributed, base = trees.attribute(explained, players, options.game)
    rows = ExplainedRows(effects, explained, players, base, predicted)
    none = np.zeros((0, len(players), len(base)))
    return _result(rows, options, weights, attributed, none)


def _result(
    rows: ExplainedRows, options: Options, weights: Vector, attributed: Attributed, errors: Cube
) -> Result:
    features, values = rows.rows.features, attributed.values
    additivity = np.zeros(0)
    if options.value is GameValue.SHAPLEY:
        additivity = np.abs(rows.base + values.sum(axis=1) - rows.predictions).max(axis=0)
    return Result(
        rows.effects.output_names,
        tuple(tuple(features.names[j] for j in player) for player in rows.players),
        rows.rows.source if options.explained_rows is None else np.zeros(0, np.intp),
        rows.base,
        rows.predictions,
        values,
        errors,
        additivity,
        attributed.interactions,
        *mean_absolute(values, weights),
        features.names,
        tuple(features.columns),
        int(np.count_nonzero(weights)),
        options.are_rows_drawn,
        (
            *_without_weight(weights),
            *_few_orders(errors, options, rows.effects.background),
            *_missed_target(errors, options.target_standard_error),
        ),
    )


def _without_weight(weights: Vector) -> tuple[Note, ...]:
    """Tell how many of the rows explained have no part in mean sizes."""
    count, counted = len(weights), int(np.count_nonzero(weights))
    if counted in {0, count}:
        return ()
    verb = "has" if count - counted == 1 else "have"
    message = (
        f"{count - counted:,} of the {count:,} rows explained {verb} weight 0: mean sizes are "
        f"those of {counted:,} row{'s' * (counted > 1)}."
    )
    return (Note(MethodWarning.ROWS_WITHOUT_WEIGHT, message),)


def _few_orders(errors: Cube, options: Options, background: Background) -> tuple[Note, ...]:
    """Warn of standard errors from few orders, which not all rows of the background begin."""
    count = options.permutation_count
    if not len(errors) or count >= FEW_ORDERS or RowStrata.are_certain(count, background):
        return ()
    return (
        Note(
            MethodWarning.FEW_PERMUTATIONS,
            f"Values are estimated from {count} pairs of random orders each; with fewer than "
            f"{FEW_ORDERS}, too few to begin with each row of the background, errors may be larger "
            "than the standard errors tell, most of all for features whose rare values matter.",
        ),
    )


def _missed_target(errors: Cube, target: float) -> tuple[Note, ...]:
    """Tell for how many rows standard errors are above the target."""
    largest = errors.max(axis=(1, 2))
    missed_count = np.count_nonzero(largest > target)
    if not target or not missed_count:
        return ()
    return (
        Note(
            MethodWarning.TARGET_ERROR_EXCEEDED,
            f"Standard errors of {missed_count:,} of the {len(errors):,} rows explained, up to "
            f"{largest.max():.2g}, are above target_standard_error, {target:g}; raise "
            "permutation_count.",
        ),
    )


def _attribute(
    explained: ExplainedRows, options: Options, way: Way, seed: int
) -> tuple[Cube, Cube, Cube]:
    """Return values, interactions and standard errors, the last two of no length without any."""
    effects, players = explained.effects, explained.players
    none = np.zeros((0, len(players), len(effects.output_names)))
    match way:
        case Way.CLOSED_FORM:
            engine = effects.exact_attributions()
            assert engine is not None  # noqa: S101 - by `choose_way`
            exact = engine.attribute(explained.rows, players, options.game)
            return exact.values, exact.interactions, none
        case Way.AFFINE:
            exact = attribute_affine(explained, options.game)
            return exact.values, exact.interactions, none
        case Way.COALITIONS:
            exact = attribute_by_coalitions(explained, options.game)
            return exact.values, exact.interactions, none
        case Way.PERMUTATIONS:
            target = options.target_standard_error
            count = options.permutation_count
            estimated = attribute_by_permutations(explained, count, seed, target)
            no_pairs = np.zeros((len(explained.rows), 0, len(effects.output_names)))
            return estimated.values, no_pairs, estimated.standard_errors


def attribute_affine(explained: ExplainedRows, game: Game) -> Attributed:
    """Compute the values of rows: what each player adds alone, whatever the others are.

    It is the partial dependence at the row's own values less the base value, and no two players
    interact.
    """
    columns, count = explained.rows.columns, len(explained.players)
    asked = [(player, [columns[j] for j in player]) for player in explained.players]
    curves = explained.effects.curves(asked)
    values = np.stack([curve - explained.base for curve in curves], axis=1)
    pairs = count * (count - 1) // 2 if game.order > 1 else 0
    return Attributed(values, np.zeros((len(explained.rows), pairs, values.shape[2])))
