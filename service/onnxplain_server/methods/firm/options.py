"""Options of FIRM, and the checks that need no table."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.firm.covariance import Covariance
from onnxplain_server.methods.option_checks import within
from onnxplain_server.methods.resampling import Resampling

MAX_FEATURES = 50_000


class Estimator(Enum):
    """Estimator of importance."""

    GAUSSIAN = "GAUSSIAN"
    TAYLOR = "TAYLOR"
    TWO_VALUED = "TWO_VALUED"
    SLOPE = "SLOPE"
    BINNED = "BINNED"
    SMOOTH = "SMOOTH"


class ScoreSource(Enum):
    """Source of the score."""

    MODEL = "MODEL"
    LABELS = "LABELS"
    BOTH = "BOTH"


class Contrast(Enum):
    """Alternative measure, computed for comparison."""

    PARTIAL_DEPENDENCE = "PARTIAL_DEPENDENCE"
    SENSITIVITY = "SENSITIVITY"
    WEIGHT = "WEIGHT"


class Combination(Enum):
    """Combination of two features."""

    CONJUNCTION = "CONJUNCTION"
    DISJUNCTION = "DISJUNCTION"
    EXCLUSIVE_OR = "EXCLUSIVE_OR"
    PRODUCT = "PRODUCT"


@dataclass(frozen=True, slots=True)
class Pairs:
    """All pairs of some features; see `FirmPairs` in the contract."""

    features: tuple[str, ...]
    combination: Combination = Combination.CONJUNCTION
    include_negations: bool = False


@dataclass(frozen=True, slots=True)
class Options:
    """Options of FIRM; see `FirmOptions` in the contract.

    Attributes
    ----------
    features : tuple of str
        Expressions; empty, before they are expanded: every column of the model.
    estimator : Estimator or None
        None: chosen per feature.
    """

    features: tuple[str, ...] = ()
    pairs: tuple[Pairs, ...] = ()
    estimator: Estimator | None = None
    source: ScoreSource = ScoreSource.MODEL
    covariance: Covariance = Covariance.EMPIRICAL
    bin_count: int = 20
    keep_bias: bool = False
    standardize: bool = False
    contrasts: tuple[Contrast, ...] = ()
    one_hot_target: bool | None = None
    resampling: Resampling = field(default_factory=Resampling)


def check(options: Options, path: str) -> None:
    """Reject options that are invalid for any table."""
    within(options.bin_count, 2, 1_000, f"{path}.bin_count")
    options.resampling.check(path)
    for i, pairs in enumerate(options.pairs):
        if len(pairs.features) < 2:
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"pairs need at least 2 features; {len(pairs.features)} given",
                f"{path}.pairs[{i}].features",
            )
    if len(set(options.contrasts)) < len(options.contrasts):
        raise ExplainError(Reason.INVALID_OPTION, "a measure is named twice", f"{path}.contrasts")
