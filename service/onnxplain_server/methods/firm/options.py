"""Options of FIRM, and the checks that need no table."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from onnxplain_server.core.contract_limits import FirmOptions, FirmPairs
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.firm.covariance import Covariance
from onnxplain_server.methods.option_checks import GROUP_SIGN, check_limits
from onnxplain_server.methods.resampling import Resampling

MAX_FEATURES = FirmOptions.features.max_items
MAX_COMBINATIONS = 1_000
"""Most combinations of values of a group's features, each of which has a bin."""
_OF_BINS = frozenset({FirmOptions.Estimator.BINNED, FirmOptions.Estimator.TWO_VALUED, None})
"""Estimators that take features of text, and so groups."""


Estimator: TypeAlias = FirmOptions.Estimator
"""Estimator of importance."""

ScoreSource: TypeAlias = FirmOptions.Source
"""Source of the score."""

Contrast: TypeAlias = FirmOptions.Contrast
"""Alternative measure, computed for comparison."""

Combination: TypeAlias = FirmPairs.Combination
"""Combination of two features."""


@dataclass(frozen=True, slots=True)
class Pairs:
    """All pairs of some features; see `FirmPairs` in the contract."""

    features: tuple[str, ...]
    combination: Combination = FirmPairs.combination.default
    include_negations: bool = FirmPairs.include_negations.default


@dataclass(frozen=True, slots=True)
class Options:
    """Options of FIRM; see `FirmOptions` in the contract.

    Attributes
    ----------
    features : tuple of str
        Expressions; empty, before they are expanded: every column of the model.
    estimator : Estimator or None
        None: chosen per feature.
    source : ScoreSource or None
        None, before the model is known: MODEL, or LABELS without a model.
    groups : tuple of tuples of str
        Expressions that count as one feature.
    """

    features: tuple[str, ...] = ()
    pairs: tuple[Pairs, ...] = ()
    estimator: Estimator | None = None
    source: ScoreSource | None = None
    covariance: Covariance = FirmOptions.covariance.default
    bin_count: int = FirmOptions.bin_count.default
    keep_bias: bool = FirmOptions.keep_bias.default
    standardize: bool = FirmOptions.standardize.default
    contrasts: tuple[Contrast, ...] = ()
    one_hot_target: bool | None = None
    resampling: Resampling = field(default_factory=Resampling)
    groups: tuple[tuple[str, ...], ...] = ()

    @property
    def named_groups(self) -> dict[str, tuple[str, ...]]:
        """Features of each group, by its name."""
        return {GROUP_SIGN.join(group): group for group in self.groups}

    @property
    def reads_model(self) -> bool:
        """Return whether scores are predictions of the model; valid once the source is set."""
        match self.source:
            case ScoreSource.MODEL | ScoreSource.BOTH | None:
                return True
            case ScoreSource.LABELS:
                return False

    @property
    def reads_target(self) -> bool:
        """Return whether scores are true values; valid once the source is set."""
        match self.source:
            case ScoreSource.LABELS | ScoreSource.BOTH:
                return True
            case ScoreSource.MODEL | None:
                return False


def check(options: Options, path: str) -> None:
    """Reject options that are invalid for any table."""
    check_limits(FirmOptions, options, path)
    for i, pairs in enumerate(options.pairs):
        if len(pairs.features) < 2:
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"pairs need at least 2 features; {len(pairs.features)} given",
                f"{path}.pairs[{i}].features",
            )
    if options.groups and options.estimator not in _OF_BINS:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"{options.estimator.value if options.estimator else ''} needs numbers, and the values "
            "of a group are combinations; ask for BINNED, or leave groups out",
            f"{path}.estimator",
        )
    if len(set(options.contrasts)) < len(options.contrasts):
        raise ExplainError(Reason.INVALID_OPTION, "a measure is named twice", f"{path}.contrasts")
