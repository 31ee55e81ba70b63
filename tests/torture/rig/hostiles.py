"""What hostile callers ask: a few of the models that tests/isolation/hostile has."""

from __future__ import annotations

from functools import cache

from hostile import answers, garbage, graphs, greedy
from hostile.base import Hostile
from onnxplain.v1.explanation_service_pb2 import ExplainRequest

SECONDS = 2.0
"""Their deadline."""

_ENDLESS = {"d-loop", "d-kernel"}
_NAMES = _ENDLESS | {
    "a-random-1000",
    "a-pickle",
    "a-deep-groups",
    "c-constant-of-shape",
    "c-expand",
    "c-doubling",
    "e--NoSuchOperator",
    "f-chain-10000",
    "f-function-bomb",
    "f-loop-of-nothing-computed",
    "i-divided-by-zero",
    "k-RandomNormalLike",
    "k-mean-of-the-batch",
}


@cache
def chosen() -> dict[str, Hostile]:
    """Return the models by their names."""
    found = (
        *garbage.hostiles(),
        *greedy.memory(),
        *greedy.endless(),
        *greedy.empty_loops(),
        *graphs.hostiles(),
        *answers.hostiles(),
    )
    return {each.name: each for each in found if each.name in _NAMES}


def reasons(name: str) -> set[str]:
    """Name the reasons for which a model may be refused; a busy machine may take too long."""
    usual = {reason.name for reason in chosen()[name].reasons}
    later = {"MODEL_QUARANTINED"} if "WORKER_DIED" in usual else set()
    return usual | later | {"DEADLINE_EXCEEDED", "LOADING_TOO_LONG"}


def is_endless(name: str) -> bool:
    """Whether only the deadline ends it."""
    return name in _ENDLESS


def request(name: str) -> ExplainRequest:
    """Ask for a curve of two points."""
    made = ExplainRequest(plots=False)
    made.model.content = chosen()[name].content
    made.table.csv = b"a,b,c\n1,2,3\n4,5,6\n7,8,10\n"
    made.methods.add().partial_dependence.grid_size = 2
    return made
