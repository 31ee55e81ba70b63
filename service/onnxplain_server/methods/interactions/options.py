"""Options of the interaction statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from onnxplain_server.core.contract_limits import InteractionsOptions
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.option_checks import check_limits, choose
from onnxplain_server.methods.resampling import Resampling


@dataclass(frozen=True, slots=True)
class Options:
    """Options of interactions; see `InteractionsOptions` in the contract.

    Attributes
    ----------
    features : tuple of str
        In table order; empty, before `resolve`, for all.
    pairwise_feature_count : int or None
        Number of the most interacting features that are paired up; None: all pairs, or those
        that a screen finds strongest where all would cost much (`Plan.pair_limit`).
    threeway_feature_count : int
        Number of the most interacting features that enter triples.
    quantile_bin_count : int
        0, or the number of quantile bins that replace dense features.
    absolute_threshold : float or None
        Numerators below it count as 0; None: relative to the predictions.
    knot_count : int
        0, or the number of knots between which effects of dense features are interpolated.
    resampling : Resampling
        Resampling for standard errors and intervals.
    permutation_count : int
        0, or the number of permutations that test whether a term explains the target.
    """

    features: tuple[str, ...] = ()
    pairwise_feature_count: int | None = None
    threeway_feature_count: int = InteractionsOptions.threeway_feature_count.default
    quantile_bin_count: int = InteractionsOptions.quantile_bin_count.default
    absolute_threshold: float | None = None
    knot_count: int = InteractionsOptions.knot_count.default
    resampling: Resampling = field(default_factory=Resampling)
    permutation_count: int = InteractionsOptions.permutation_count.default


def resolve(options: Options, names: Sequence[str], path: str) -> Options:
    """Fill in defaults that depend on the features; reject invalid options.

    Raises
    ------
    ExplainError
        UNKNOWN_FEATURE or INVALID_OPTION.
    """
    features = choose(options.features, names, f"{path}.features")
    if len(features) < 2:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"interactions need at least 2 features; {len(features)} given",
            f"{path}.features",
        )
    check_limits(InteractionsOptions, options, path)
    if options.knot_count and options.quantile_bin_count:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "knot_count and quantile_bin_count are two approximations of the same; give one",
            f"{path}.knot_count",
        )
    return replace(options, features=tuple(name for name in names if name in features))
