"""What is told of features' vectors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix, Vector
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Note
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
_UNFAITHFUL = 0.5
"""Fidelity below which the forest tells more noise than target, and no pair is told."""
_FLAT = 2 / 3
"""Share of the variance below which the vectors are a coarse picture of the counts."""
_MANY_SENTENCES = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """See `FeatureVectorsResult` in the contract.

    Attributes
    ----------
    features : tuple of str
        In the order of all lists here.
    source : PathSource
    embedding : Embedding
    sentence_count, tree_count : int
        Paths that counted, and trees they are from.
    groups : (n_features,)
        From 1; 0 for features too short to be in one.
    nearest : list of (positions, degrees)
        For each feature.
    fit : Fit or None
        Of a forest that was grown.
    interchange : Interchange
        How alike the important features are used.
    interchangeable : tuple of Pair
        The most similar first.
    no_pairs_reason : str
        Why no pair is told, whatever the counts; empty where pairs can be told.
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
    """What counting gave: the start of every result.

    Attributes
    ----------
    counted, split_pairs : sparse (n_features, n_features)
        Counts that are embedded, and those by which features are compared.
    """

    counted: Cooccurrence
    split_pairs: Cooccurrence
    sentence_count: int
    tree_count: int
    fit: Fit | None = None
    is_boosted: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Repetition:
    """What is kept of a repetition.

    Attributes
    ----------
    vectors : (n_features, n_dimensions)
    holds : (n_important, n_important) of bool
        Whether the rule of interchangeable pairs holds.
    """

    vectors: Matrix
    holds: Matrix


def repetition(options: Options, trunk: PathCounts, chosen: Indices) -> Repetition:
    """Read other trees as those of the result were read, in whose order `chosen` stands."""
    vectors = embed_counts(trunk.counted, options).vectors
    return Repetition(vectors, interchange.compare(trunk.split_pairs, chosen).holds)


def embed_counts(counted: Cooccurrence, options: Options) -> Embedding:
    """Decompose counts, or say that there are none.

    Raises
    ------
    ExplainError
        UNSUPPORTED_MODEL or INVALID_OPTION where no two features stand near each other.
    """
    if not counted.nnz:
        of_model = options.source is PathSource.MODEL
        least = options.rule.min_split_count
        of_length = f" of at least {least} splits" if least else ""
        lower = "lower min_split_count, or " if least else ""
        remedy = "set source to SURROGATE" if of_model else "allow a larger depth or window"
        raise ExplainError(
            Reason.UNSUPPORTED_MODEL if of_model else Reason.INVALID_OPTION,
            f"no path{of_length} has splits on two different features within a window of "
            f"{options.rule.window} (trees of one split have none), so no two features stand near "
            f"each other; {lower}{remedy}",
            "model" if of_model else "",
        )
    return embed(counted, options.dimension_count)


def finish(
    options: Options,
    trunk: PathCounts,
    embedding: Embedding,
    *,
    repeats: Sequence[Repetition] = (),
    check: KnockoffCheck | None = None,
    notes: tuple[Note, ...] = (),
) -> Result:
    """Read everything off the vectors and the counts.

    Parameters
    ----------
    repeats : sequence of Repetition
        None, or at least 2.
    """
    vectors, wanted = embedding.vectors, options.reading
    chosen = geometry.important(vectors, wanted.importance_floor)
    found = interchange.compare(trunk.split_pairs, chosen)
    no_pairs_reason = _no_pairs_reason(trunk, len(options.features))
    return Result(
        options.features,
        options.source or PathSource.MODEL,
        embedding,
        trunk.sentence_count,
        trunk.tree_count,
        wanted.importance_floor,
        geometry.groups(vectors, chosen, wanted.group_angle_degrees),
        geometry.neighbors(vectors, chosen, wanted.neighbor_count),
        stability(vectors, [repeat.vectors for repeat in repeats]) if repeats else None,
        check,
        trunk.fit,
        found,
        ()
        if no_pairs_reason
        else interchange.stable_pairs(found, [repeat.holds for repeat in repeats]),
        no_pairs_reason,
        trunk.counted.toarray().astype(np.float64) if options.include_cooccurrence else None,
        geometry.similarity(vectors) if options.include_similarity else None,
        (*notes, *_notes(trunk, embedding)),
    )


def _notes(trunk: PathCounts, embedding: Embedding) -> list[Note]:
    """Say what should temper the trust in angles and lengths."""
    notes = []
    if is_ill_determined(embedding):
        count = embedding.vectors.shape[1]
        notes.append(
            Note(
                "ANGLE_ILL_DETERMINED",
                f"Singular value {count} is only {embedding.gap:.2f} times the next one, so which "
                "plane is drawn, and with it every angle, hangs on little; look at similarities "
                "with a higher dimension_count.",
            )
        )
    if trunk.sentence_count < _MANY_SENTENCES:
        notes.append(
            Note(
                "FEW_SENTENCES",
                f"Only {trunk.sentence_count:,} paths were counted; about {_MANY_SENTENCES:,} give "
                "angles within some 5 degrees from forest to forest. repeat_count tells how far "
                "these would move.",
            )
        )
    if doubts := " ".join(filter(None, (_unlike_target(trunk), _flat(embedding)))):
        notes.append(Note("LOW_FIDELITY", doubts))
    return notes


def is_ill_determined(embedding: Embedding) -> bool:
    """Whether the plane, and every angle with it, hangs on little."""
    return embedding.gap < _CLEAR_GAP


def is_coarse(embedding: Embedding) -> bool:
    """Whether the vectors hold little of the counts."""
    return embedding.variance_ratio < _FLAT


def _unlike_target(trunk: PathCounts) -> str:
    """Doubt where a grown forest tells little of its target."""
    if trunk.fit is None or trunk.fit.fidelity >= FAITHFUL:
        return ""
    pairs = (
        f" Below {_UNFAITHFUL}, no features are told to be interchangeable."
        if trunk.fit.fidelity < _UNFAITHFUL
        else ""
    )
    return (
        f"The forest grown tells only {trunk.fit.fidelity:.2f} of its target on held-out "
        f"rows (below {FAITHFUL}), so the vectors may not be those of what is explained; "
        f"a larger depth or row_count can help.{pairs}"
    )


def _flat(embedding: Embedding) -> str:
    """Doubt where the vectors hold little of the counts."""
    if not is_coarse(embedding):
        return ""
    return (
        f"The {embedding.vectors.shape[1]} dimensions of the vectors hold only "
        f"{embedding.variance_ratio:.0%} of the variance of the counts (below {_FLAT:.0%}), so "
        "features that are near each other in them may differ in the rest: look at the adjusted "
        "similarity, which uses all dimensions, or ask for a higher dimension_count."
    )


def _no_pairs_reason(trunk: PathCounts, feature_count: int) -> str:
    """Say why no pair can be told, whatever the counts; empty where pairs can be told."""
    if trunk.is_boosted:
        return "the model's trees are boosted"
    if trunk.fit is not None and trunk.fit.fidelity < _UNFAITHFUL:
        return f"the forest grown tells only {trunk.fit.fidelity:.2f} of its target"
    if feature_count < interchange.MIN_FEATURES:
        return f"fewer than {interchange.MIN_FEATURES} features have too few neighbours"
    return ""
