"""Sentences on feature vectors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnxplain.v1.explanation_service_pb2 import Explanation

from onnxplain_server.plots.elements.labels import clean


def of_vectors(explanation: Explanation) -> Iterator[str]:
    """Name the longest vector, and the pair that could stand in for each other."""
    result = explanation.feature_vectors
    lengths = np.array(result.norms)
    if not lengths.size or not np.isfinite(lengths).all() or lengths.max() <= 0:
        return
    yield f"{clean(result.features[int(np.argmax(lengths))])} has the longest feature vector."
    if result.interchangeable:
        pair = result.interchangeable[0]
        yield (
            f"{clean(pair.first)} and {clean(pair.second)} could stand in for each other "
            f"(adjusted similarity {pair.adjusted_similarity:.2f})."
        )
