"""Compiles the loops of feature vectors, before the first request or where later is too late."""

from __future__ import annotations

import numpy as np

from onnxplain_server.methods.feature_vectors.cooccurrence import Rule, count
from onnxplain_server.methods.feature_vectors.embedding import embed
from onnxplain_server.methods.feature_vectors.paths import of_sentences


def warm() -> None:
    """Count a path by every loop, once, and decompose a matrix by each solver.

    Afterwards nothing of this method compiles or loads code, whatever the source of the paths.
    """
    chain = np.arange(_MANY).tolist()
    embed(count(of_sentences([chain], _MANY), Rule()), 2)
    embed(count(of_sentences([[0, 1, 2]], 3), Rule()), 2)


_MANY = 400
"""Features for which only the leading singular values are sought."""
