"""The method `Firm`, and its options."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

from onnxplain.requests.forms import to_names
from onnxplain.v1 import firm_pb2
from onnxplain.v1.explanation_service_pb2 import MethodOptions
from onnxplain.v1.firm_pb2 import FirmBackground, FirmKmerWeights, FirmOptions

Estimator: TypeAlias = Literal["GAUSSIAN", "TAYLOR", "TWO_VALUED", "SLOPE", "BINNED", "SMOOTH"]
"""How importance is estimated."""

ScoreSource: TypeAlias = Literal["MODEL", "LABELS", "BOTH"]
"""What the score is: predictions, the target column, or both side by side."""

Covariance: TypeAlias = Literal["EMPIRICAL", "SHRUNK", "LEDOIT_WOLF"]
"""How covariances are estimated."""

Contrast: TypeAlias = Literal["PARTIAL_DEPENDENCE", "SENSITIVITY", "WEIGHT"]
"""Other measures, to be set beside."""

Combination: TypeAlias = Literal["CONJUNCTION", "DISJUNCTION", "EXCLUSIVE_OR", "PRODUCT"]
"""What is made of two features."""

Layout: TypeAlias = Literal["POSITION_MAJOR", "LETTER_MAJOR"]
"""How a model takes one-hot sequences."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FirmPairs:
    """All pairs of some features.

    Attributes
    ----------
    features : sequence of str
        At least 2.
    combination : str, optional
        "CONJUNCTION", the default, "DISJUNCTION", "EXCLUSIVE_OR" or "PRODUCT".
    include_negations : bool
        Whether each takes part negated too.
    """

    features: Sequence[str]
    combination: Combination | None = None
    include_negations: bool = False


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FirmSequences:
    """Which strings matter at which positions of sequences.

    Needs no model where `weights` are given, and no table unless a background is fitted.

    Attributes
    ----------
    column : str
        Text column to which a background is fitted.
    alphabet : str, optional
        Default "ACGT".
    length : int, optional
        Letters of a sequence. Default: as the model, the column or the weights tell.
    order : int, optional
        Of the Markov chain that is fitted to the column. Default: all letters equally likely.
    initial, transitions : sequence of float
        A Markov chain that is given: first letters, and next ones row by row.
    pseudo_count : float, optional
        Added to counts when fitting; default 1.
    weights : mapping of (str, int) to float, optional
        Weight of each string at each position, from 0: the score, instead of a model.
    constant : float
        Added to each score of `weights`.
    max_length : int, optional
        All strings of up to so many letters; default 3.
    motifs : sequence of str
        Compared with strings that differ from them in 1, 2, ... letters.
    top_count : int, optional
        How many of the most important strings are listed; default 20.
    layout : "POSITION_MAJOR" or "LETTER_MAJOR", optional
        How the model takes one-hot sequences.
    sample_count : int, optional
        Sequences drawn for a model that is no sum over letters; default 20,000.

    Examples
    --------
    >>> weights = {("GAT", 35): 0.4, ("TAC", 38): 0.3}
    >>> sequences = onnxplain.FirmSequences(weights=weights, motifs=["GATTACA"])
    >>> client.explain(None, None, onnxplain.Firm(sequences=sequences))
    """

    column: str = ""
    alphabet: str | None = None
    length: int | None = None
    order: int | None = None
    initial: Sequence[float] = ()
    transitions: Sequence[float] = ()
    pseudo_count: float | None = None
    weights: Mapping[tuple[str, int], float] | None = None
    constant: float = 0.0
    max_length: int | None = None
    motifs: Sequence[str] = ()
    top_count: int | None = None
    layout: Layout | None = None
    sample_count: int | None = None

    def to_message(self) -> firm_pb2.FirmSequences:
        """Write it as the contract has it."""
        return firm_pb2.FirmSequences(
            column=self.column,
            alphabet=self.alphabet,
            length=self.length,
            background=self._background(),
            weights=None if self.weights is None else _weights(self.weights, self.constant),
            max_length=self.max_length,
            motifs=to_names(self.motifs, "motifs"),
            top_count=self.top_count,
            layout=self.layout,
            sample_count=self.sample_count,
        )

    def _background(self) -> FirmBackground | None:
        background = FirmBackground(
            order=self.order,
            initial=self.initial,
            transitions=self.transitions,
            pseudo_count=self.pseudo_count,
        )
        return background if background.ListFields() else None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Firm:
    """How far any feature moves the expected score, whether the model takes it or not.

    One prediction per row for all features together; all rows unless `row_count` says fewer.

    Attributes
    ----------
    features : sequence of str
        Columns, or expressions over columns: "age > 40 and income < 30000", "x1 * x2",
        "kmer(sequence, 'GATTACA', 35)". Default: every column that the model takes.
    pairs : sequence of FirmPairs
        All pairs of some features, added to them.
    estimator : str, optional
        "GAUSSIAN", "TAYLOR", "TWO_VALUED", "SLOPE", "BINNED" or "SMOOTH". Default: chosen for
        each feature.
    source : "MODEL", "LABELS" or "BOTH", optional
        Predictions, the default, the target column, or both side by side.
    covariance : "EMPIRICAL", "SHRUNK" or "LEDOIT_WOLF", optional
        For GAUSSIAN and TAYLOR.
    bin_count : int, optional
        Bins of features with more distinct values; in [2, 1000], default 20.
    keep_bias : bool
        Whether BINNED and SMOOTH keep their bias upwards.
    standardize : bool
        Whether importances are divided by the score's standard deviation.
    contrasts : sequence of str
        "PARTIAL_DEPENDENCE", "SENSITIVITY", "WEIGHT".
    one_hot_target : bool, optional
        Whether the target names classes. Default: where it is text.
    repeat_count : int, optional
        Replicates of the rows for standard errors and intervals; default 0.
    confidence_level : float, optional
        Default 0.95.
    sequences : FirmSequences, optional
        Strings at positions, instead of features of rows; then nothing else may be set.

    Examples
    --------
    >>> onnxplain.Firm(features=["age", "age > 40 and not smoker"], repeat_count=200)
    """

    features: Sequence[str] = ()
    pairs: Sequence[FirmPairs] = ()
    estimator: Estimator | None = None
    source: ScoreSource | None = None
    covariance: Covariance | None = None
    bin_count: int | None = None
    keep_bias: bool = False
    standardize: bool = False
    contrasts: Sequence[Contrast] = ()
    one_hot_target: bool | None = None
    repeat_count: int | None = None
    confidence_level: float | None = None
    sequences: FirmSequences | None = None

    def to_message(self) -> MethodOptions:
        """Write it as the contract has it."""
        return MethodOptions(
            firm=FirmOptions(
                features=to_names(self.features),
                pairs=[
                    firm_pb2.FirmPairs(
                        features=to_names(pairs.features),
                        combination=pairs.combination,
                        include_negations=pairs.include_negations,
                    )
                    for pairs in self.pairs
                ],
                estimator=self.estimator,
                source=self.source,
                covariance=self.covariance,
                bin_count=self.bin_count,
                keep_bias=self.keep_bias,
                standardize=self.standardize,
                contrasts=self.contrasts,
                one_hot_target=self.one_hot_target,  # type: ignore[arg-type] # None: left out
                repeat_count=self.repeat_count,
                confidence_level=self.confidence_level,
                sequences=None if self.sequences is None else self.sequences.to_message(),
            )
        )


def _weights(weights: Mapping[tuple[str, int], float], constant: float) -> FirmKmerWeights:
    return FirmKmerWeights(
        kmers=[kmer for kmer, _ in weights],
        positions=[position for _, position in weights],
        values=list(weights.values()),
        constant=constant,
    )
