"""Sentences on feature vectors."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from onnxplain.v1.explanation_service_pb2 import Explanation

from onnxplain_server.core.number_texts import between_zero_and_one
from onnxplain_server.plots.claims.leaders import leaders
from onnxplain_server.plots.elements.labels import clean
from onnxplain_server.report.sentences.words import few_of


def of_vectors(explanation: Explanation) -> Iterator[str]:
    """Name the longest vector, and the pair that could stand in for each other."""
    result = explanation.feature_vectors
    lengths = np.array(result.norms)
    if not lengths.size or not np.isfinite(lengths).all() or lengths.max() <= 0:
        return
    errors = np.array(result.norm_standard_errors) if result.norm_standard_errors else None
    longest = [clean(result.features[place]) for place in leaders(lengths, errors)]
    if len(longest) == 1:
        yield f"{longest[0]} has the longest feature vector."
    elif longest:
        yield f"{few_of(longest)} have the longest feature vectors, and cannot be told apart."
    if result.interchangeable:
        pair = result.interchangeable[0]
        similarity = pair.adjusted_similarity
        told = between_zero_and_one(similarity, f"{similarity:.2f}")
        yield (
            f"{clean(pair.first)} and {clean(pair.second)} could stand in for each other "
            f"(adjusted similarity {told})."
        )
