"""Results of `FeatureVectors`: vectors, groups, interchangeable pairs."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from onnxplain.results.origins import ClassPairing, RowsUsed
from onnxplain.results.plots import Plot
from onnxplain.results.tabular import Tabular, read_result
from onnxplain.v1 import explanation_service_pb2, feature_vectors_pb2
from onnxplain.v1.feature_vectors_pb2 import FeatureVectorsOptions

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
    """Feature vectors, in table order.

    Attributes
    ----------
    features : tuple of str
    vectors : (n_features, n_dimensions)
    norms, relative_norms : (n_features,)
        Lengths in counts, and over the largest.
    angles_degrees : (n_features,)
        In the first two dimensions; NaN for vectors of 0.
    singular_values : (n_singular_values,)
    explained_variance_ratio : float
    groups : (n_features,)
        From 1; 0 for features too short to compare.
    cooccurrence, similarity, adjusted_similarity : (n_features, n_features) or None
        None unless requested.
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
        """Read the message of the contract."""
        result = message.feature_vectors
        count = len(result.features)
        return read_result(
            cls,
            message,
            vectors=np.array(result.vectors).reshape(count, -1),
            groups=np.array(result.groups, dtype=np.int32),
            cooccurrence=_square(result.cooccurrence, count),
            similarity=_square(result.similarity, count),
            adjusted_similarity=_square(result.adjusted_similarity, count),
            interchangeable=tuple((pair.first, pair.second) for pair in result.interchangeable),
        )

    def to_arrow(self) -> pa.Table:
        """Return one row per feature.

        Returns
        -------
        pyarrow.Table
            Columns `feature`, `norm`, `relative_norm`, `angle_degrees`, `group`, `nearest`,
            `nearest_angle_degrees`, and standard errors, null without repetitions.
        """
        missing = [None] * len(self.features)
        message = self.message
        columns = (
            self.features,
            self.norms,
            self.relative_norms,
            self.angles_degrees,
            self.groups,
            [near.features[0] if near.features else None for near in message.nearest],
            [near.angles_degrees[0] if near.features else None for near in message.nearest],
            list(message.norm_standard_errors) or missing,
            list(message.angle_standard_errors_degrees) or missing,
        )
        return pa.table([pa.array(c) for c in columns], names=_SCHEMA.names).cast(_SCHEMA)


def _square(values: Sequence[float], count: int) -> npt.NDArray[np.float64] | None:
    return np.array(values).reshape(count, count) if values else None
