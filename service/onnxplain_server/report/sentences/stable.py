"""Stability: which conclusions of an explanation sentences may use, where replicates tell."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from onnxplain.v1.explanation_service_pb2 import Conclusion, Explanation

from onnxplain_server.core.arrays import Vector


def told_apart(  # noqa: PLR0917 - what leads, and of what
    explanation: Explanation,
    kind: int,
    output: str,
    features: Sequence[Sequence[str]],
    sizes: Vector,
    leading: list[int],
) -> list[int]:
    """Return the places of the leaders, with the next one where replicates do not agree.

    Parameters
    ----------
    kind : Kind
        RANK or STRONGEST_PAIR.
    features : sequence of sequence of str
        Of each size.
    leading : list of int
        Places of those that lead by their errors.
    """
    if len(leading) != 1 or not _is_unstable(explanation, kind, output, features[leading[0]]):
        return leading
    finite = np.where(np.isfinite(sizes), sizes, -np.inf)
    first: list[int] = np.argsort(-finite, kind="stable")[:2].tolist()
    return first


def stable_ranks(explanation: Explanation, output: str, features: list[str]) -> list[str]:
    """Return the first features whose ranks are stable; all where there are no replicates."""
    unstable = {
        one.features[0]
        for one in explanation.conclusions
        if one.kind == Conclusion.RANK and one.output_name == output and not one.is_stable
    }
    stop = next((at for at, name in enumerate(features) if name in unstable), len(features))
    return features[:stop]


def has_unstable_slope(
    explanation: Explanation, output: str, features: Sequence[str], group: str = ""
) -> bool:
    """Return whether replicates of a curve do not agree on its sign."""
    return _is_unstable(explanation, Conclusion.SLOPE, output, features, group)


def _is_unstable(
    explanation: Explanation,
    kind: int,
    output: str,
    features: Sequence[str],
    group: str = "",
) -> bool:
    return any(
        one.kind == kind
        and (one.output_name, one.group) == (output, group)
        and list(one.features) == list(features)
        and not one.is_stable
        for one in explanation.conclusions
    )
