"""What the commands are given to work with; made only when a command needs it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from onnxplain_server.core.interfaces import Cache, Runner


@dataclass(frozen=True, slots=True)
class ServiceParts:
    """The parts that `__main__` builds.

    Attributes
    ----------
    runner : callable () -> Runner
        Makes what computes in this process.
    cache : callable () -> Cache
        Makes what its methods share numbers through.
    serve : callable (flags) -> None
        Serves until the process is told to stop.
    """

    runner: Callable[[], Runner]
    cache: Callable[[], Cache]
    serve: Callable[[Mapping[str, object]], None]
