"""What a zygote is told when it is started."""

from __future__ import annotations

import dataclasses
import json
from dataclasses import dataclass

from onnxplain_server.adapters.onnx.checks.gate import ModelLimits
from onnxplain_server.adapters.workers.sandbox.resource_limits import Budget


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    """How its workers are made.

    Attributes
    ----------
    thread_count : int
        Calls of a model side by side, in each worker.
    arena_bytes : int
        Largest request, and largest reply.
    budget : Budget
        What each worker may use.
    limits : ModelLimits
        The most complex model that they load.
    """

    thread_count: int
    arena_bytes: int
    budget: Budget
    limits: ModelLimits

    def to_json(self) -> str:
        """Write it as an argument of a command."""
        return json.dumps(dataclasses.asdict(self))

    @classmethod
    def from_json(cls, text: str) -> WorkerSettings:
        """Read what `to_json` wrote."""
        given = json.loads(text)
        budget, limits = Budget(**given.pop("budget")), ModelLimits(**given.pop("limits"))
        return cls(**given, budget=budget, limits=limits)
