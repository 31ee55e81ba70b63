"""Builds the parts and hands them to the command line."""

from __future__ import annotations

import math
import os
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from onnxplain_server import cli
from onnxplain_server.core.interfaces import BlobStore, Cache, Runner
from onnxplain_server.telemetry.tracing import UNTRACED, Tracer

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

    from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
    from onnxplain_server.adapters.storage.memory_cache import MemoryCache
    from onnxplain_server.config.settings import Settings
    from onnxplain_server.local import LocalMessages

_CACHE_BYTES = 256 * 2**20
_UPLOAD_BYTES = 2**30

_SLACK_BYTES = 2**20
"""What a message may grow by on its way to a worker."""

_LIVES = 4
"""Longest requests that a worker's processor time would last for."""


def main() -> None:
    """Run the command line."""
    cli.app(obj=cli.ServiceParts(_runner, _cache, _serve), prog_name="onnxplain")


def local() -> LocalMessages:
    """Make what answers a client in its own process; the client finds it by its entry point."""
    from onnxplain_server.local import LocalMessages  # noqa: PLC0415

    return LocalMessages(_runner(), _cache(), _blobs())


# Imports stand inside (PLC0415), because onnxruntime and Flask take a second that most commands
# do not need.


def _runner() -> Runner:
    from onnxplain_server.adapters.runner.in_process import InProcess  # noqa: PLC0415

    return InProcess(threads=len(os.sched_getaffinity(0)))


@dataclass(frozen=True, slots=True)
class _Served:
    """The runner of a server, what it shows as metrics, and whether it can do work now."""

    runner: Runner
    collectors: Sequence[Collector] = ()
    ready: Callable[[], bool] = lambda: True


def _served(chosen: Settings, opened: ExitStack) -> _Served:
    """Make the runner of a server, to be closed with `opened`."""
    from onnxplain_server.adapters.onnx import ModelLimits  # noqa: PLC0415
    from onnxplain_server.adapters.runner.in_process import InProcess  # noqa: PLC0415
    from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerSettings  # noqa: PLC0415
    from onnxplain_server.adapters.workers.isolated import Isolated, WorkerTimeouts  # noqa: PLC0415
    from onnxplain_server.adapters.workers.sandbox.resource_limits import Budget  # noqa: PLC0415
    from onnxplain_server.adapters.workers.worker_metrics import WorkerState  # noqa: PLC0415
    from onnxplain_server.adapters.workers.zygote_start import StartError  # noqa: PLC0415

    limits = ModelLimits(
        chosen.max_node_count,
        chosen.max_output_count,
        chosen.max_graph_depth,
        chosen.max_tree_depth,
    )
    if not chosen.isolation:
        return _Served(opened.enter_context(closing(InProcess(chosen.thread_count, limits=limits))))
    processor_seconds = math.ceil(_LIVES * chosen.max_seconds * (chosen.thread_count + 1))
    budget = Budget(chosen.worker_bytes, processor_seconds)
    # The message, and files that were uploaded and come with it.
    largest = chosen.max_message_bytes + chosen.max_model_bytes + chosen.max_table_bytes
    order = WorkerSettings(chosen.thread_count, largest + _SLACK_BYTES, budget, limits)
    timeouts = WorkerTimeouts(chosen.max_load_seconds, chosen.quarantine_seconds)
    try:
        isolated = Isolated(order, chosen.running_count, chosen.warm_bytes, timeouts)
    except StartError as error:
        raise cli.CommandError(
            "CANNOT_START_WORKERS", f"no worker could be started: {error}"
        ) from None
    opened.enter_context(closing(isolated))
    return _Served(isolated, [WorkerState(isolated.counts)], lambda: isolated.ready)


def _cache(byte_limit: int = _CACHE_BYTES) -> MemoryCache:
    from onnxplain_server.adapters.storage.memory_cache import MemoryCache  # noqa: PLC0415
    from onnxplain_server.adapters.storage.signing import Signer  # noqa: PLC0415

    return MemoryCache(byte_limit, Signer(secrets.token_bytes(32)))


def _blobs(byte_limit: int = _UPLOAD_BYTES, seconds: float = math.inf) -> MemoryBlobs:
    from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs  # noqa: PLC0415

    return MemoryBlobs(byte_limit, seconds)


def _stores(chosen: Settings) -> tuple[Cache, BlobStore]:
    cache = _cache(chosen.cache_bytes)
    blobs = _blobs(chosen.upload_bytes, chosen.upload_seconds)
    address = chosen.redis_address()
    if address is None:
        return cache, blobs
    from onnxplain_server.adapters.storage.shared_storage import SharedStorage  # noqa: PLC0415
    from onnxplain_server.config.settings import SettingsError  # noqa: PLC0415

    secret = chosen.sealing_secret()
    try:
        shared = SharedStorage(address, secret)
    except ValueError as error:
        raise SettingsError(f"the address of Redis: {error}") from None
    return (
        shared.cache(cache, chosen.cache_seconds),
        shared.blobs(blobs, chosen.upload_seconds),
    )


def _serve(flags: Mapping[str, object]) -> None:
    from onnxplain_server import serve  # noqa: PLC0415
    from onnxplain_server.config import settings  # noqa: PLC0415
    from onnxplain_server.telemetry import logs  # noqa: PLC0415

    chosen = settings.load(flags)
    logs.configure(chosen.log_level, chosen.log_format)
    with ExitStack() as opened:
        tracer = _tracer(opened)
        served = _served(chosen, opened)
        cache, store = _stores(chosen)
        serve.run(
            chosen,
            served.runner,
            cache,
            store,
            served.collectors,
            ready=served.ready,
            tracer=tracer,
        )


def _tracer(opened: ExitStack) -> Tracer:
    """Make what traces, where it is asked for, to be closed with `opened`."""
    from onnxplain_server.config.settings import SettingsError, traces  # noqa: PLC0415

    wanted = traces()
    if wanted is None:
        return UNTRACED
    try:
        from onnxplain_server.telemetry import otel  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"{error.name} is not installed, and variables OTEL_* ask for traces: install "
            "onnxplain-server[otel], or set OTEL_SDK_DISABLED=true"
        ) from None
    tracer = otel.exporting(wanted.exporter, wanted.protocol)
    opened.callback(tracer.close)
    return tracer


if __name__ == "__main__":
    main()
