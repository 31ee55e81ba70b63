"""Warnings about the numbers of a method, by their codes in the contract."""

from enum import Enum

from onnxplain_server.core.warnings.declaration import (
    LOSSES,
    Tells,
    WarningDeclaration,
    WarningSection,
)


class MethodWarning(Enum):
    """Warning about what a method computed."""

    BELOW_THRESHOLD = WarningDeclaration(
        WarningSection.EFFECTS,
        cause="A statistic is told as 0, but is more than a negligible share of the predictions",
        remedy="Export in float64, or set `absolute_threshold`",
    )
    PAIRS_SAMPLED = WarningDeclaration(
        WarningSection.EFFECTS,
        cause="Pairs and triples use a sample of the rows",
        remedy="Set `row_count`",
        tells=Tells.HOW_IT_WAS_MADE,
    )
    ESTIMATED_BY_SURROGATE = WarningDeclaration(
        WarningSection.EFFECTS,
        cause=(
            "The [engine](engines.md#surrogates) `SURROGATE` was asked for, or predicting would "
            "have taken longer than the setting `surrogate_seconds`: numbers are estimates from "
            "few predictions; the message has how well the surrogate predicts"
        ),
        remedy=(
            "Read the intervals; for smaller ones, ask for the engine with a larger "
            "`budget_predicted_row_count`, or for `BLACK_BOX`"
        ),
        tells=Tells.HOW_IT_WAS_MADE,
    )
    WEAK_EFFECT = WarningDeclaration(
        WarningSection.EFFECTS,
        cause=(
            "The joint effect by which a statistic with an interval divides is [partly "
            "chance](studies/intervals.md#weak-effects) of the rows drawn"
        ),
        remedy="Compare by numerators, or raise `row_count`",
    )
    SQUARES_OUT_OF_RANGE = WarningDeclaration(
        WarningSection.EFFECTS,
        cause=(
            "Squares of the predictions are beyond the range of float64, so interactions are "
            "infinite, NaN or 0"
        ),
        remedy="Explain another unit, by an expression such as `y / 1e100` in `prediction`",
        silences=("interactions",),
    )
    KNOTS_TOO_FEW = WarningDeclaration(
        WarningSection.EFFECTS,
        cause="Interpolation between knots may be inaccurate",
        remedy="Raise `knot_count`",
        silences=(
            "interactions",
            "partial_dependence",
        ),
    )
    APPROXIMATION_UNNECESSARY = WarningDeclaration(
        WarningSection.EFFECTS,
        cause="An approximation was asked of an engine that is exact without it",
        remedy="Leave `knot_count` and `quantile_bin_count` out",
    )
    FEW_ROWS = WarningDeclaration(
        WarningSection.EFFECTS,
        cause="There are too few rows for standard errors, intervals or an importance",
        remedy="Add rows; the message names the affected numbers",
    )
    CURVES_EXTRAPOLATE = WarningDeclaration(
        WarningSection.EFFECTS,
        cause=(
            "More than 20 % of the rows behind a curve or surface lie [outside the support of the "
            "table](methods/partial-dependence.md#support): moved along it, they combine values "
            "that hardly any row has together"
        ),
        remedy=(
            "Read [accumulated local effects](methods/accumulated-local-effects.md) in its place, "
            "a surface of both features that the message names, or leave such points out by "
            "`max_outside_share`"
        ),
    )
    PROBABILITY_FLOOR = WarningDeclaration(
        WarningSection.EFFECTS,
        cause=(
            "The log loss of some rows is that of `probability_floor`, because their class has a "
            "lower probability"
        ),
        remedy="Look at these rows; a model that is wrong with certainty is not calibrated",
    )
    UNDEFINED_SCORE = WarningDeclaration(
        WarningSection.EFFECTS,
        cause=(
            "A score is NaN, because its rows are all of one class; of a ranking, because no query "
            "has rows to tell apart"
        ),
        remedy="Use rows of both classes, rows that differ, or larger groups",
    )
    INFINITE_LOSS = WarningDeclaration(
        WarningSection.EFFECTS,
        cause="The loss is infinite, on the rows as they are or permuted",
        remedy="Use another loss, or fix the probabilities of 0",
        silences=LOSSES,
    )
    ZERO_BASELINE = WarningDeclaration(
        WarningSection.EFFECTS,
        cause="A relative importance is requested, and the loss is 0",
        remedy="Omit `normalize`",
        silences=("permutation_importance",),
    )
    TARGET_ERROR_EXCEEDED = WarningDeclaration(
        WarningSection.ATTRIBUTIONS,
        cause=(
            "Standard errors of some rows are above `target_standard_error` after all pairs of "
            "orders, `permutation_count`"
        ),
        remedy="Raise `permutation_count`",
    )
    FEW_PERMUTATIONS = WarningDeclaration(
        WarningSection.ATTRIBUTIONS,
        cause=(
            "Values are estimated from few pairs of orders, so that errors may be larger than told"
        ),
        remedy="Raise `permutation_count`",
    )
    ROWS_WITHOUT_WEIGHT = WarningDeclaration(
        WarningSection.ATTRIBUTIONS,
        cause="Some of the rows explained have weight 0, and do not count in mean sizes",
        remedy="None: each row has its own values",
        tells=Tells.HOW_IT_WAS_MADE,
    )
    CONSTANT_FIRM_FEATURE = WarningDeclaration(
        WarningSection.FIRM,
        cause="A feature is the same in every row",
        remedy="None: its importance is 0",
    )
    TEXTS_IN_ONE_BIN = WarningDeclaration(
        WarningSection.FIRM,
        cause="More than half of the rows of a feature have texts that share one bin",
        remedy=(
            "Measure words: `contains(review, 'great')`; where texts occur several times, raise "
            "`bin_count` to what the message says"
        ),
        silences=("firm",),
    )
    SLOPE_BLIND = WarningDeclaration(
        WarningSection.FIRM,
        cause="The expected score rises and falls again, or bends, which a straight line misses",
        remedy="Use `BINNED`",
        silences=("firm",),
    )
    TAYLOR_BLIND = WarningDeclaration(
        WarningSection.FIRM,
        cause="The expected score bends, which the gradient at the mean misses",
        remedy="Use `BINNED`",
        silences=("firm",),
    )
    GAUSSIAN_OFF = WarningDeclaration(
        WarningSection.FIRM,
        cause="The closed form assumes Gaussian columns, and these are not",
        remedy="Use `BINNED`",
        silences=("firm",),
    )
    FIRM_OVERFLOW = WarningDeclaration(
        WarningSection.FIRM,
        cause="An importance is NaN, because squares or sums exceed the range of float64",
        remedy="Rescale the model's output or the named features",
        silences=("firm",),
    )
    CONTRASTS_SAMPLED = WarningDeclaration(
        WarningSection.FIRM,
        cause="Measures compared with FIRM use a sample of the rows",
        remedy="Read them as estimates",
        tells=Tells.HOW_IT_WAS_MADE,
    )
    SEQUENCES_SAMPLED = WarningDeclaration(
        WarningSection.FIRM,
        cause="The score is not a sum over single letters, so sequences are sampled",
        remedy="Raise `sample_count`",
        tells=Tells.HOW_IT_WAS_MADE,
    )
    ANGLE_ILL_DETERMINED = WarningDeclaration(
        WarningSection.FEATURE_VECTORS,
        cause="The plane, and every angle in it, depends on small differences",
        remedy="Raise `dimension_count`, and use similarities",
    )
    FEW_SENTENCES = WarningDeclaration(
        WarningSection.FEATURE_VECTORS,
        cause="Few paths were counted",
        remedy="Raise `sentence_count`; `repeat_count` measures the variation of vectors",
        silences=("feature_vectors",),
    )
    LOW_FIDELITY = WarningDeclaration(
        WarningSection.FEATURE_VECTORS,
        cause="The forest fits its target poorly, or the plane holds little of the variance",
        remedy="Do not rely on directions",
        silences=("feature_vectors",),
    )
    BOOSTED_TREES = WarningDeclaration(
        WarningSection.FEATURE_VECTORS,
        cause="Boosted trees do not show which features are interchangeable",
        remedy="Use the source `SURROGATE`",
    )
    NOT_EXACT = WarningDeclaration(
        WarningSection.SWARM,
        cause="Weights come from a heuristic search",
        remedy="Raise `restart_count`, with start `UNIFORM`",
    )
    EXTRAPOLATES = WarningDeclaration(
        WarningSection.SWARM,
        cause="Best weights move values outside the observed range",
        remedy="Read the result as a stress test, or lower `weight_limit`",
    )
    CLASS_ABSENT = WarningDeclaration(
        WarningSection.SWARM,
        cause="No row of the sample has this class",
        remedy="Add rows of it",
    )
    FEATURES_LEFT_OUT = WarningDeclaration(
        WarningSection.SWARM,
        cause="Features are not numeric and cannot be scaled",
        remedy="None, or list the other features",
    )
