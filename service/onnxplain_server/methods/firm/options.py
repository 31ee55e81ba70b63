"""What to compute."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.firm.covariance import Covariance
from onnxplain_server.methods.option_checks import within
from onnxplain_server.methods.resampling import Resampling

MAX_FEATURES = 50_000


class Estimator(Enum):
    """How importance is estimated."""

    GAUSSIAN = "GAUSSIAN"
    TAYLOR = "TAYLOR"
    TWO_VALUED = "TWO_VALUED"
    SLOPE = "SLOPE"
    BINNED = "BINNED"
    SMOOTH = "SMOOTH"


class ScoreSource(Enum):
    """What the score is."""

    MODEL = "MODEL"
    LABELS = "LABELS"
    BOTH = "BOTH"


class Contrast(Enum):
    """Other measures, to be set beside."""

    PARTIAL_DEPENDENCE = "PARTIAL_DEPENDENCE"
    SENSITIVITY = "SENSITIVITY"
    WEIGHT = "WEIGHT"


class Combination(Enum):
    """What is made of two features."""

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
    """What to compute; see `FirmOptions` in the contract.

    Attributes
    ----------
    features : tuple of str
        Empty, before they are resolved, for every column that the model takes.
    estimator : Estimator or None
        None: chosen for each feature.
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
    """Refuse what is impossible whatever the table."""
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
