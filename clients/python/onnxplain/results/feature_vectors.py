"""The method `FeatureVectors` and its results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from onnxplain.requests.forms import to_names
from onnxplain.results.plots import Plot
from onnxplain.results.provenance import ClassPairing, RowsUsed
from onnxplain.results.tabular import Tabular
from onnxplain.v1 import explanation_service_pb2, feature_vectors_pb2
from onnxplain.v1.explanation_service_pb2 import MethodOptions
from onnxplain.v1.feature_vectors_pb2 import FeatureVectorsOptions, KnockoffOptions

Source: TypeAlias = Literal["MODEL", "SURROGATE", "LABELS"]
"""Whose decision paths are read: the model's own, or those of a forest grown for the purpose."""

Counting: TypeAlias = Literal["PER_WINDOW", "PER_PATH"]
"""What counts once."""


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Knockoffs:
    """Compare features with knockoffs.

    Attributes
    ----------
    permutation_count : int, optional
        Random pairings of the test; in [100, 1000000], default 10,000.
    component_count : int, optional
        Gaussians in the mixture that columns are taken as drawn from. Default: chosen.
    """

    permutation_count: int | None = None
    component_count: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class FeatureVectors:
    """A vector of each feature: its length is importance, its direction meaning.

    Needs no table where the model is a forest, or `source` is "MODEL".

    Attributes
    ----------
    source : "MODEL", "SURROGATE" or "LABELS", optional
        Whose decision paths are read. Default: the model's own where it is a forest, else those
        of a forest grown on its predictions. "LABELS": of one grown on the target.
    features : sequence of str
        At least 2. Default: all.
    window : int, optional
        Consecutive splits that are near each other; in [2, 64], default 3.
    counting : "PER_WINDOW" or "PER_PATH", optional
        Whether a pair counts once per window, the default, or once per path and position.
    fill_diagonal : bool
        Whether a feature counts as near itself.
    min_split_count : int, optional
        Shorter paths count for nothing. Default 0.
    sentence_count : int, optional
        Paths for which a forest is grown. Default 100,000.
    depth : int, optional
        Of trees that are grown. Default: by cross-validation.
    one_hot_target : bool, optional
        Whether the target names classes. Default: where it is text.
    dimension_count : int, optional
        Components of a vector. Default 2.
    row_indices : sequence of int
        Rows whose paths count: the vectors of a segment. Default: every path once.
    repeat_count : int, optional
        Repetitions for standard errors. Default 0.
    importance_floor, group_angle_degrees, neighbor_count : float, float, int, optional
        Which features are compared, what makes a group, how many neighbors are named. Default
        0.05, 10 and 3.
    knockoffs : Knockoffs, optional
    include_cooccurrence, include_similarity : bool
        Whether the counts, and the cosines, are returned.

    Examples
    --------
    >>> client.explain("forest.onnx", None, onnxplain.FeatureVectors())
    """

    source: Source | None = None
    features: Sequence[str] = ()
    window: int | None = None
    counting: Counting | None = None
    fill_diagonal: bool = False
    min_split_count: int | None = None
    sentence_count: int | None = None
    depth: int | None = None
    one_hot_target: bool | None = None
    dimension_count: int | None = None
    row_indices: Sequence[int] = ()
    repeat_count: int | None = None
    importance_floor: float | None = None
    group_angle_degrees: float | None = None
    neighbor_count: int | None = None
    knockoffs: Knockoffs | None = None
    include_cooccurrence: bool = False
    include_similarity: bool = False

    def to_message(self) -> MethodOptions:
        """Write it as the contract has it."""
        return MethodOptions(
            feature_vectors=FeatureVectorsOptions(
                source=self.source,
                features=to_names(self.features),
                window=self.window,
                counting=self.counting,
                fill_diagonal=self.fill_diagonal,
                min_split_count=self.min_split_count,
                sentence_count=self.sentence_count,
                depth=self.depth,
                one_hot_target=self.one_hot_target,  # type: ignore[arg-type] # None: left out
                dimension_count=self.dimension_count,
                row_indices=self.row_indices,
                repeat_count=self.repeat_count,
                importance_floor=self.importance_floor,
                group_angle_degrees=self.group_angle_degrees,
                neighbor_count=self.neighbor_count,
                knockoffs=_knockoffs(self.knockoffs),
                include_cooccurrence=self.include_cooccurrence,
                include_similarity=self.include_similarity,
            )
        )


def _knockoffs(knockoffs: Knockoffs | None) -> KnockoffOptions | None:
    if knockoffs is None:
        return None
    return KnockoffOptions(
        permutation_count=knockoffs.permutation_count, component_count=knockoffs.component_count
    )


_SCHEMA = pa.schema(
    [
        ("feature", pa.string()),
        ("norm", pa.float64()),
        ("relative_norm", pa.float64()),
        ("angle_degrees", pa.float64()),
        ("group", pa.int32()),
        ("nearest", pa.string()),
        ("nearest_angle_degrees", pa.float64()),
        ("norm_standard_error", pa.float64()),
        ("angle_standard_error_degrees", pa.float64()),
    ]
)


@dataclass(frozen=True, slots=True, eq=False)
class FeatureVectorsResult(Tabular):
    """Vectors of features, in table order.

    Attributes
    ----------
    features : tuple of str
    vectors : (n_features, n_dimensions)
    norms, relative_norms : (n_features,)
        Lengths in counts, and over the largest.
    angles_degrees : (n_features,)
        In the first two dimensions; NaN for vectors of 0.
    singular_values : (n_found,)
    explained_variance_ratio : float
    groups : (n_features,)
        From 1; 0 for features too short to compare.
    cooccurrence, similarity, adjusted_similarity : (n_features, n_features) or None
        Where they were asked for.
    interchangeable : tuple of (str, str)
        Pairs of features that could stand in for each other, the most similar first; their
        measures are in `message`.
    plots : tuple of Plot
    options : FeatureVectorsOptions
        The message with every default filled in.
    rows : RowsUsed or None
        The rows of the table that the numbers are computed on.
    message : FeatureVectorsResult
        As the server sent it: with what is not above, such as the knockoffs.
    class_pairings : tuple of ClassPairing
        Classes of the target, and the outputs they were compared with; empty without classes.
    """

    features: tuple[str, ...]
    vectors: npt.NDArray[np.float64]
    norms: npt.NDArray[np.float64]
    relative_norms: npt.NDArray[np.float64]
    angles_degrees: npt.NDArray[np.float64]
    singular_values: npt.NDArray[np.float64]
    explained_variance_ratio: float
    groups: npt.NDArray[np.int32]
    cooccurrence: npt.NDArray[np.float64] | None
    similarity: npt.NDArray[np.float64] | None
    adjusted_similarity: npt.NDArray[np.float64] | None
    interchangeable: tuple[tuple[str, str], ...]
    plots: tuple[Plot, ...]
    options: FeatureVectorsOptions
    rows: RowsUsed | None
    message: feature_vectors_pb2.FeatureVectorsResult = field(repr=False)
    class_pairings: tuple[ClassPairing, ...] = ()

    @classmethod
    def from_message(cls, message: explanation_service_pb2.Explanation) -> FeatureVectorsResult:
        """Read it from the contract's form."""
        result = message.feature_vectors
        count = len(result.features)
        return cls(
            features=tuple(result.features),
            vectors=np.array(result.vectors).reshape(count, -1),
            norms=np.array(result.norms),
            relative_norms=np.array(result.relative_norms),
            angles_degrees=np.array(result.angles_degrees),
            singular_values=np.array(result.singular_values),
            explained_variance_ratio=result.explained_variance_ratio,
            groups=np.array(result.groups, dtype=np.int32),
            cooccurrence=_square(result.cooccurrence, count),
            similarity=_square(result.similarity, count),
            adjusted_similarity=_square(result.adjusted_similarity, count),
            interchangeable=tuple((pair.first, pair.second) for pair in result.interchangeable),
            plots=tuple(Plot.from_message(plot) for plot in message.plots),
            options=message.options.feature_vectors,
            rows=RowsUsed.from_message(message),
            message=result,
            class_pairings=ClassPairing.from_messages(message),
        )

    def to_arrow(self) -> pa.Table:
        """Return one row per feature.

        Returns
        -------
        pyarrow.Table
            Columns `feature`, `norm`, `relative_norm`, `angle_degrees`, `group`, `nearest`,
            `nearest_angle_degrees`, and standard errors, null without repetitions.
        """
        nothing = [None] * len(self.features)
        found = self.message
        columns = (
            self.features,
            self.norms,
            self.relative_norms,
            self.angles_degrees,
            self.groups,
            [near.features[0] if near.features else None for near in found.nearest],
            [near.angles_degrees[0] if near.features else None for near in found.nearest],
            list(found.norm_standard_errors) or nothing,
            list(found.angle_standard_errors_degrees) or nothing,
        )
        return pa.table([pa.array(c) for c in columns], names=_SCHEMA.names).cast(_SCHEMA)


def _square(values: Sequence[float], count: int) -> npt.NDArray[np.float64] | None:
    return np.array(values).reshape(count, count) if values else None
