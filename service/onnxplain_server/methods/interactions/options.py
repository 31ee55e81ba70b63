"""Options of the interaction statistics."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from onnxplain_server.core.contract_limits import InteractionsOptions
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.option_checks import (
    check_grouping,
    check_groups,
    check_limits,
    choose,
    players,
)
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
    groups : tuple of tuples of str
        Features that count as one; after `resolve`, each in table order.
    target_error : float or None
        Standard error of numerators, as a share of the predictions' mean square, at which
        estimates end; None: with their budget.
    """

    features: tuple[str, ...] = ()
    pairwise_feature_count: int | None = None
    threeway_feature_count: int = InteractionsOptions.threeway_feature_count.default
    quantile_bin_count: int = InteractionsOptions.quantile_bin_count.default
    absolute_threshold: float | None = None
    knot_count: int = InteractionsOptions.knot_count.default
    resampling: Resampling = field(default_factory=Resampling)
    permutation_count: int = InteractionsOptions.permutation_count.default
    groups: tuple[tuple[str, ...], ...] = ()
    target_error: float | None = None

    def players(self, names: Sequence[str]) -> dict[str, tuple[int, ...]]:
        """Return the features of each player by its name, in the order of their first ones.

        Parameters
        ----------
        names : sequence of str
            Features of the model.
        """
        place = {name: j for j, name in enumerate(names)}
        named = players(self.features or names, self.groups)
        return {name: tuple(place[each] for each in own) for name, own in named.items()}


def resolve(options: Options, names: Sequence[str], path: str) -> Options:
    """Fill in defaults that depend on the features; reject invalid options.

    Raises
    ------
    ExplainError
        UNKNOWN_FEATURE or INVALID_OPTION.
    """
    chosen = set(choose(options.features, names, f"{path}.features"))
    features = tuple(name for name in names if name in chosen)
    groups = check_groups(options.groups, names, f"{path}.groups")
    options = replace(options, features=features, groups=groups)
    _check_grouping(options, names, path)
    check_limits(InteractionsOptions, options, path)
    if options.knot_count and options.quantile_bin_count:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "knot_count and quantile_bin_count are two approximations of the same; give one",
            f"{path}.knot_count",
        )
    return options


def _check_grouping(options: Options, names: Sequence[str], path: str) -> None:
    """Refuse groups without a name of their own, a single player, and knots beside groups."""
    check_grouping(options.features, options.groups, names, f"{path}.groups")
    count = len(players(options.features, options.groups))
    if count < 2:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"interactions need at least 2 features, of which a group counts as one; {count} given",
            f"{path}.groups" if options.groups else f"{path}.features",
        )
    if options.groups and options.knot_count:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "knot_count interpolates along single features, and not along groups; leave groups or "
            "knot_count out",
            f"{path}.knot_count",
        )
