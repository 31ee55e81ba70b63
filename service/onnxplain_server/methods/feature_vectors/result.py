"""What is told of features' vectors."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from onnxplain_server.arrays import Indices, Matrix, Vector
from onnxplain_server.errors import ExplainError, Reason
from onnxplain_server.methods.feature_vectors import reading
from onnxplain_server.methods.feature_vectors.cooccurrence import Cooccurrence
from onnxplain_server.methods.feature_vectors.embedding import Embedding, embed
from onnxplain_server.methods.feature_vectors.growing import Fit
from onnxplain_server.methods.feature_vectors.options import Options, Source
from onnxplain_server.methods.feature_vectors.pairing import KnockoffCheck
from onnxplain_server.methods.feature_vectors.stability import Stability
from onnxplain_server.model import Note

_CLEAR_GAP = 1.1
_FAITHFUL = 0.8
_MANY_SENTENCES = 20_000


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """See `FeatureVectorsResult` in the contract.

    Attributes
    ----------
    features : tuple of str
        In the order of all lists here.
    source : Source
    embedding : Embedding
    sentence_count, tree_count : int
        Paths that counted, and trees they are from.
    groups : (n_features,)
        From 1; 0 for features too short to be in one.
    nearest : list of (positions, degrees)
        For each feature.
    fit : Fit or None
        Of a forest that was grown.
    cooccurrence, similarity : (n_features, n_features) or None
    notes : tuple of Note
    """

    features: tuple[str, ...]
    source: Source
    embedding: Embedding
    sentence_count: int
    tree_count: int
    importance_floor: float
    groups: Indices
    nearest: list[tuple[Indices, Vector]]
    stability: Stability | None
    knockoff_check: KnockoffCheck | None
    fit: Fit | None
    cooccurrence: Matrix | None
    similarity: Matrix | None
    notes: tuple[Note, ...]

    @property
    def norms(self) -> Vector:
        """Lengths of the vectors: (n_features,)."""
        return reading.norms(self.embedding.vectors)

    @property
    def angles(self) -> Vector:
        """Directions in degrees, NaN for vectors of 0: (n_features,)."""
        return reading.angles(self.embedding.vectors)

    @property
    def important(self) -> Indices:
        """Features long enough to be compared, ascending."""
        return reading.important(self.embedding.vectors, self.importance_floor)


@dataclass(frozen=True, slots=True, eq=False)
class Trunk:
    """What counting gave: the start of every result."""

    counted: Cooccurrence
    sentence_count: int
    tree_count: int
    fit: Fit | None = None


def embed_counts(counted: Cooccurrence, options: Options) -> Embedding:
    """Decompose counts, or say that there are none.

    Raises
    ------
    ExplainError
        UNSUPPORTED_MODEL or INVALID_OPTION where no two features stand near each other.
    """
    if not counted.nnz:
        of_model = options.source is Source.MODEL
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
    trunk: Trunk,
    embedding: Embedding,
    *,
    spread: Stability | None = None,
    check: KnockoffCheck | None = None,
    notes: tuple[Note, ...] = (),
) -> Result:
    """Read everything off the vectors."""
    vectors, wanted = embedding.vectors, options.reading
    chosen = reading.important(vectors, wanted.importance_floor)
    return Result(
        options.features,
        options.source or Source.MODEL,
        embedding,
        trunk.sentence_count,
        trunk.tree_count,
        wanted.importance_floor,
        reading.groups(vectors, chosen, wanted.group_angle_degrees),
        reading.neighbors(vectors, chosen, wanted.neighbor_count),
        spread,
        check,
        trunk.fit,
        trunk.counted.toarray().astype(np.float64) if options.include_cooccurrence else None,
        reading.similarity(vectors) if options.include_similarity else None,
        (*notes, *_notes(trunk, embedding)),
    )


def _notes(trunk: Trunk, embedding: Embedding) -> list[Note]:
    """Say what should temper the trust in angles and lengths."""
    notes = []
    if embedding.gap < _CLEAR_GAP:
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
    if trunk.fit is not None and trunk.fit.fidelity < _FAITHFUL:
        notes.append(
            Note(
                "LOW_FIDELITY",
                f"The forest grown tells only {trunk.fit.fidelity:.2f} of its target on held-out "
                f"rows (below {_FAITHFUL}), so the vectors may not be those of what is explained; "
                "a larger depth or row_count can help.",
            )
        )
    return notes
