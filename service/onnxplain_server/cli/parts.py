"""Parts of the service that commands use, built on demand by `__main__`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from onnxplain_server.core.interfaces import Cache, Runner
from onnxplain_server.core.sources import Sources


def _no_sources() -> Sources:
    # Imported on use: most commands need no messages of the contract.
    from onnxplain_server.transport.fetched_files import NO_SOURCES  # noqa: PLC0415

    return NO_SOURCES


@dataclass(frozen=True, slots=True)
class ServiceParts:
    """Factories of the service's parts.

    Attributes
    ----------
    runner : callable () -> Runner
        Makes the runner of this process.
    cache : callable () -> Cache
        Makes the cache of this process.
    serve : callable (flags) -> None
        Serves until SIGTERM or SIGINT.
    sources : callable () -> Sources
        Makes the reader of URIs in this process.
    """

    runner: Callable[[], Runner]
    cache: Callable[[], Cache]
    serve: Callable[[Mapping[str, object]], None]
    sources: Callable[[], Sources] = _no_sources
