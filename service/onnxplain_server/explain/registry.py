"""Registry of preparations: for each method the function that makes it a job, and its row rules."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from onnxplain_server.explain.methods import (
    average_loss,
    feature_vectors,
    firm,
    individual_conditional_expectation,
    interactions,
    partial_dependence,
    permutation_importance,
    sequences,
    swarm,
)
from onnxplain_server.explain.task import Job, Task
from onnxplain_server.methods import sequences as sequences_method
from onnxplain_server.methods.registry import Options, method_of


@dataclass(frozen=True, slots=True)
class Preparation:
    """Preparation of a method.

    Attributes
    ----------
    prepare : callable (Task, Options) -> Job
    rows_once : bool
        Whether it predicts each row once: it then uses all rows and does not merge equal ones.
    is_alone : bool
        Whether it must be the request's only method, as it reads another kind of table.
    """

    prepare: Callable[[Task, Any], Job[Any]]
    rows_once: bool = False
    is_alone: bool = False


PREPARATIONS: Mapping[str, Preparation] = MappingProxyType(
    {
        "interactions": Preparation(interactions.prepare),
        "partial_dependence": Preparation(partial_dependence.prepare),
        "individual_conditional_expectation": Preparation(
            individual_conditional_expectation.prepare
        ),
        "permutation_importance": Preparation(permutation_importance.prepare),
        "average_loss": Preparation(average_loss.prepare),
        "feature_vectors": Preparation(feature_vectors.prepare),
        "firm": Preparation(firm.prepare, rows_once=True),
        "swarm": Preparation(swarm.prepare),
    }
)

_SEQUENCES = Preparation(sequences.prepare, is_alone=True)


def preparation_of(options: Options) -> Preparation:
    """Return the preparation of the method that has these options."""
    if isinstance(options, sequences_method.Options):
        return _SEQUENCES
    return PREPARATIONS[method_of(options).name]
