"""Parts of the service that commands use, built on demand by `__main__`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from onnxplain_server.core.interfaces import Began, Cache, Call, Runner, RunnerHost
from onnxplain_server.core.request import Reply
from onnxplain_server.core.sources import Sources

if TYPE_CHECKING:
    from onnxplain_server.adapters.runner.on_workers.worker_calls import PredictionWorkers
    from onnxplain_server.trees.streaming.row_blocks import LargeTable


class LocalRunner(Runner, Protocol):
    """Runner in the process of a command, which reads files itself."""

    def answer(self, call: Call, host: RunnerHost, table: LargeTable | None = None) -> Reply:
        """As `Runner.answer`; explain the rows of a table in blocks in place of the request's."""


def _no_sources() -> Sources:
    # Imported on use: most commands need no messages of the contract.
    from onnxplain_server.transport.fetched_files import NO_SOURCES  # noqa: PLC0415

    return NO_SOURCES


@dataclass(frozen=True, slots=True)
class ServiceParts:
    """Factories of the service's parts.

    Attributes
    ----------
    runner : callable (PredictionWorkers or None) -> LocalRunner
        Makes the runner of this process, for which workers predict, if there are some.
    cache : callable () -> Cache
        Makes the cache of this process.
    serve : callable (flags, began) -> None
        Serves until SIGTERM or SIGINT; tells `began` the ports once it listens.
    sources : callable () -> Sources
        Makes the reader of URIs in this process.
    """

    runner: Callable[[PredictionWorkers | None], LocalRunner]
    cache: Callable[[], Cache]
    serve: Callable[[Mapping[str, object], Began], None]
    sources: Callable[[], Sources] = _no_sources
