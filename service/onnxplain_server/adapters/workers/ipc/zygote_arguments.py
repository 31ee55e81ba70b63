"""Arguments of a zygote: the worker settings, as JSON on its command line."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass
from enum import StrEnum

from onnxplain_server.adapters.sandbox.confine import Budget
from onnxplain_server.core.model_limits import ModelLimits

LEARNING_LIBRARY = "sklearn"
"""Left out of workers of kind COMPUTE: it takes 100 MiB and a second, and few requests need it."""


class WorkerKind(StrEnum):
    """Kind of a worker.

    Attributes
    ----------
    COMPUTE
        Computes with one caller's model; has all libraries but scikit-learn.
    LEARN
        The same, with scikit-learn.
    DECODE
        Decodes bodies of REST.
    TASK
        Computes tasks for workers of a cluster: passes over tables, and predictions.
    """

    COMPUTE = "compute"
    LEARN = "learn"
    DECODE = "decode"
    TASK = "task"


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """Settings of all workers of a kind.

    Attributes
    ----------
    thread_count : int
        Concurrent calls of a model, in each worker.
    arena_bytes : int
        Size limit of a request, and of a reply.
    budget : Budget
        Resource limits of each worker.
    limits : ModelLimits
        Complexity limits for models.
    reply_bytes : int
        Size limit of a reply to a caller.
    kind : WorkerKind
    memory_bytes : int
        Tables that would need more are read in blocks.
    surrogate_seconds : float
        Time of predictions beyond which interactions are estimated; 0: never.
    has_cluster : bool
        Whether requests whose table is read in blocks by URI come with a socket to a cluster.
    """

    thread_count: int
    arena_bytes: int
    budget: Budget
    limits: ModelLimits
    reply_bytes: int = 2**63 - 1
    kind: WorkerKind = WorkerKind.COMPUTE
    memory_bytes: int = 2**63 - 1
    has_cluster: bool = False
    surrogate_seconds: float = 0.0

    def to_json(self) -> str:
        """Encode as a command-line argument."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> WorkerSettings:
        """Decode the output of `to_json`."""
        fields = json.loads(text)
        budget, limits = Budget(**fields.pop("budget")), ModelLimits(**fields.pop("limits"))
        kind = WorkerKind(fields.pop("kind"))
        return cls(**fields, budget=budget, limits=limits, kind=kind)
