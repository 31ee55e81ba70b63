"""Result of feature vectors: embedding, groups, interchangeable pairs, stability and notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note
from onnxplain_server.core.warnings import MethodWarning
from onnxplain_server.methods.feature_vectors import geometry, interchange
from onnxplain_server.methods.feature_vectors.cooccurrence import Cooccurrence
from onnxplain_server.methods.feature_vectors.embedding import Embedding, embed
from onnxplain_server.methods.feature_vectors.growing import Fit
from onnxplain_server.methods.feature_vectors.interchange import Interchange, Pair
from onnxplain_server.methods.feature_vectors.knockoff_test import KnockoffCheck
from onnxplain_server.methods.feature_vectors.options import Options, PathSource
from onnxplain_server.methods.feature_vectors.stability import Stability, stability

_CLEAR_GAP = 1.1
FAITHFUL = 0.8
_MIN_FIDELITY = 0.5
"""Fidelity below which the forest fits more noise than target, so no pair is reported."""
_MIN_VARIANCE_RATIO = 2 / 3
"""Share of the variance below which the vectors approximate the counts poorly."""
_MIN_SENTENCES = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Result of feature vectors; see `FeatureVectorsResult` in the contract.

    Attributes
    ----------
    features : tuple of str
        In the order of all lists below.
    source : PathSource
    embedding : Embedding
    sentence_count, tree_count : int
        Number of counted paths, and of their trees.
    groups : (n_features,)
        From 1; 0 for features too short for a group.
    nearest : list of (positions, degrees)
        Nearest neighbours of each feature.
    fit : Fit or None
        Fit of a surrogate forest; None for the model's own trees.
    interchange : Interchange
        Comparison of the important features.
    interchangeable : tuple of Pair
        Most similar first.
    no_pairs_reason : str
        Reason that no pair is reported, whatever the counts; empty if pairs can be reported.
    cooccurrence, similarity : (n_features, n_features) or None
    notes : tuple of Note
    """

    features: tuple[str, ...]
    source: PathSource
    embedding: Embedding
    sentence_count: int
    tree_count: int
    importance_floor: float
    groups: Indices
    nearest: list[tuple[Indices, Vector]]
    stability: Stability | None
    knockoff_check: KnockoffCheck | None
    fit: Fit | None
    interchange: Interchange
    interchangeable: tuple[Pair, ...]
    no_pairs_reason: str
    cooccurrence: Matrix | None
    similarity: Matrix | None
    notes: tuple[Note, ...]

    @property
    def norms(self) -> Vector:
        """Lengths of the vectors: (n_features,)."""
        return geometry.norms(self.embedding.vectors)

    @property
    def angles(self) -> Vector:
        """Directions in degrees, NaN for vectors of 0: (n_features,)."""
        return geometry.angles(self.embedding.vectors)

    @property
    def important(self) -> Indices:
        """Features long enough to be compared, ascending."""
        return geometry.important(self.embedding.vectors, self.importance_floor)


@dataclass(frozen=True, slots=True, eq=False)
class PathCounts:
    """Counts of paths, the basis of a result and of each repetition.

    Attributes
    ----------
    counted, split_pairs : sparse (n_features, n_features)
        Counts to embed, and counts for comparing features.
    """

    counted: Cooccurrence
    split_pairs: Cooccurrence
    sentence_count: int
    tree_count: int
    fit: Fit | None = None
    is_boosted: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Repetition:
    """Vectors and rule of a repetition.

    Attributes
    ----------
    vectors : (n_features, n_dimensions)
    holds : (n_important, n_important) of bool
        Whether the rule of interchangeable pairs holds.
    """

    vectors: Matrix
    holds: Matrix


def repetition(options: Options, counts: PathCounts, chosen: Indices) -> Repetition:
    """Evaluate a repetition for the features `chosen` in the result."""
    vectors = embed_counts(counts.counted, options).vectors
    return Repetition(vectors, interchange.compare(counts.split_pairs, chosen).holds)


def embed_counts(counted: Cooccurrence, options: Options) -> Embedding:
    """Embed counts, or raise an error if there are none.

    Raises
    ------
    ExplainError
        UNSUPPORTED_MODEL or INVALID_OPTION if no two features co-occur.
    """
    if not counted.nnz:
        of_model = not options.grows_forest
        least = options.rule.min_split_count
        of_length = f" of at least {least} splits" if least else ""
        lower = "lower min_split_count, or " if least else ""
        remedy = "set source to SURROGATE" if of_model else "allow a larger depth or window"
        raise ExplainError(
            Reason.UNSUPPORTED_MODEL if of_model else Reason.INVALID_OPTION,
            f"no path{of_length} has splits on two different features within a window of "
            f"{options.rule.window} (trees of one split have none), so no two features co-occur; "
            f"{lower}{remedy}",
            "model" if of_model else "",
        )
    return embed(counted, options.dimension_count)


def finish(
    options: Options,
    counts: PathCounts,
    embedding: Embedding,
    *,
    repeats: Sequence[Repetition] = (),
    check: KnockoffCheck | None = None,
    notes: tuple[Note, ...] = (),
) -> Result:
    """Derive the result from the vectors and the counts, and 0 or at least 2 repetitions."""
    vectors, reading = embedding.vectors, options.reading
    chosen = geometry.important(vectors, reading.importance_floor)
    comparison = interchange.compare(counts.split_pairs, chosen)
    no_pairs_reason = _no_pairs_reason(counts, len(options.players))
    return Result(
        tuple(options.players),
        options.source or PathSource.MODEL,
        embedding,
        counts.sentence_count,
        counts.tree_count,
        reading.importance_floor,
        geometry.groups(vectors, chosen, reading.group_angle_degrees),
        geometry.neighbors(vectors, chosen, reading.neighbor_count),
        stability(vectors, [repeat.vectors for repeat in repeats]) if repeats else None,
        check,
        counts.fit,
        comparison,
        ()
        if no_pairs_reason
        else interchange.stable_pairs(comparison, [repeat.holds for repeat in repeats]),
        no_pairs_reason,
        counts.counted.toarray().astype(np.float64) if options.include_cooccurrence else None,
        geometry.similarity(vectors) if options.include_similarity else None,
        (*notes, *_notes(counts, embedding)),
    )


def _notes(counts: PathCounts, embedding: Embedding) -> list[Note]:
    """Return warnings about angles and lengths."""
    notes = []
    if is_ill_determined(embedding):
        count = embedding.vectors.shape[1]
        notes.append(
            Note(
                MethodWarning.ANGLE_ILL_DETERMINED,
                f"Singular value {count} is only {embedding.gap:.2f} times the next one, so the "
                "plane of the vectors, and with it every angle, is poorly determined; use "
                "similarities with a higher dimension_count.",
            )
        )
    if counts.sentence_count < _MIN_SENTENCES:
        notes.append(
            Note(
                MethodWarning.FEW_SENTENCES,
                f"Only {counts.sentence_count:,} paths were counted; about {_MIN_SENTENCES:,} give "
                "angles within some 5 degrees from forest to forest. repeat_count tells how far "
                "these would move.",
            )
        )
    if doubts := " ".join(filter(None, (_low_fidelity(counts), _low_variance(embedding)))):
        notes.append(Note(MethodWarning.LOW_FIDELITY, doubts))
    return notes


def is_ill_determined(embedding: Embedding) -> bool:
    """Return whether the plane of the vectors, and every angle, is poorly determined."""
    return embedding.gap < _CLEAR_GAP


def is_coarse(embedding: Embedding) -> bool:
    """Return whether the vectors hold little of the variance of the counts."""
    return embedding.variance_ratio < _MIN_VARIANCE_RATIO


def _low_fidelity(counts: PathCounts) -> str:
    """Return the warning of a surrogate forest with low fidelity, or ""."""
    if counts.fit is None or counts.fit.fidelity >= FAITHFUL:
        return ""
    pairs = (
        f" Below {_MIN_FIDELITY}, no features are reported as interchangeable."
        if counts.fit.fidelity < _MIN_FIDELITY
        else ""
    )
    return (
        f"The surrogate forest's fidelity on held-out rows is only {counts.fit.fidelity:.2f} "
        f"(below {FAITHFUL}), so the vectors may not represent its target; a larger depth or "
        f"row_count can help.{pairs}"
    )


def _low_variance(embedding: Embedding) -> str:
    """Return the warning of a coarse embedding, or ""."""
    if not is_coarse(embedding):
        return ""
    return (
        f"The {embedding.vectors.shape[1]} dimensions of the vectors hold only "
        f"{embedding.variance_ratio:.0%} of the variance of the counts (below "
        f"{_MIN_VARIANCE_RATIO:.0%}), so nearby features may differ in other dimensions: use the "
        "adjusted similarity, which uses all dimensions, or a higher dimension_count."
    )


def _no_pairs_reason(counts: PathCounts, feature_count: int) -> str:
    """Return the reason that no pair can be reported, or ""."""
    if counts.is_boosted:
        return "the model's trees are boosted"
    if counts.fit is not None and counts.fit.fidelity < _MIN_FIDELITY:
        return f"the fidelity of the surrogate forest is only {counts.fit.fidelity:.2f}"
    if feature_count < interchange.MIN_FEATURES:
        return f"fewer than {interchange.MIN_FEATURES} features have too few neighbours"
    return ""
