"""Options of the interaction statistics."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.interactions.interpolation import check_knots
from onnxplain_server.methods.option_checks import choose, within
from onnxplain_server.methods.resampling import Resampling


@dataclass(frozen=True, slots=True)
class Options:
    """What to compute; see `InteractionsOptions` in the contract.

    Attributes
    ----------
    features : tuple of str
        In table order; empty, before `resolve`, for all.
    pairwise_feature_count, threeway_feature_count : int
        How many of the features that interact most enter pairs and triples.
    quantile_bin_count : int
        0, or the number of quantile bins that replace dense features.
    absolute_threshold : float or None
        Numerators below it count as 0; None: relative to the predictions.
    knot_count : int
        0, or the number of knots between which effects of dense features are interpolated.
    resampling : Resampling
        Whether, and how, to tell the spread of the statistics.
    permutation_count : int
        0, or how often to permute each term to test whether it explains the target.
    """

    features: tuple[str, ...] = ()
    pairwise_feature_count: int = 5
    threeway_feature_count: int = 0
    quantile_bin_count: int = 0
    absolute_threshold: float | None = None
    knot_count: int = 0
    resampling: Resampling = field(default_factory=Resampling)
    permutation_count: int = 0


def resolve(options: Options, names: Sequence[str], path: str) -> Options:
    """Fill in defaults that depend on the features, and refuse what is impossible.

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
    within(options.pairwise_feature_count, 0, 100, f"{path}.pairwise_feature_count")
    within(options.threeway_feature_count, 0, 50, f"{path}.threeway_feature_count")
    if options.quantile_bin_count:
        within(options.quantile_bin_count, 2, 10_000, f"{path}.quantile_bin_count")
    if options.knot_count:
        check_knots(options.knot_count, options.quantile_bin_count, path)
    if options.absolute_threshold is not None:
        within(options.absolute_threshold, 0, math.inf, f"{path}.absolute_threshold")
    within(options.permutation_count, 0, 100_000, f"{path}.permutation_count")
    options.resampling.check(path)
    return replace(options, features=tuple(name for name in names if name in features))
