"""Composition root: builds runner, cache and stores, and passes them to the command line."""

from __future__ import annotations

import math
import secrets
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

from onnxplain_server import cli
from onnxplain_server.core.interfaces import Began, BlobStore, Cache, Decoder, Runner
from onnxplain_server.core.model_limits import SURROGATE_SECONDS, ModelLimits
from onnxplain_server.core.operation_store import OperationStore, RedisCounts
from onnxplain_server.core.quotas import QuotaStore
from onnxplain_server.core.sources import FetchControl, Sources
from onnxplain_server.core.systems import console
from onnxplain_server.core.systems.processors import processor_count

if TYPE_CHECKING:
    from prometheus_client.registry import Collector

    from onnxplain_server.adapters.runner.in_process import InProcess
    from onnxplain_server.adapters.runner.on_workers.worker_calls import PredictionWorkers
    from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
    from onnxplain_server.adapters.storage.memory_cache import MemoryCache
    from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerSettings
    from onnxplain_server.config.settings import Settings
    from onnxplain_server.core.remote.models import RemoteAddress, RemotePredictions
    from onnxplain_server.local import LocalMessages
    from onnxplain_server.outside import Reached

_CACHE_BYTES = 256 * 2**20
_UPLOAD_BYTES = 2**30

_FRAME_SLACK_BYTES = 2**20
"""Room for what is added to a message on its way to a worker."""

_CPU_LIMIT_REQUESTS = 4
"""CPU time limit of a worker, as a number of requests of maximum length."""


def main() -> None:
    """Run the command line."""
    console.allow_all_symbols()
    cli.app(obj=cli.ServiceParts(_runner, _cache, _serve, _local_sources), prog_name="onnxplain")


def local(memory_bytes: int | None = None, executor: object = None) -> LocalMessages:
    """Make the in-process service; the client finds it by this entry point.

    Parameters
    ----------
    memory_bytes, executor
        See `onnxplain.local`.
    """
    from onnxplain_server.adapters.cluster.executors import workers_of  # noqa: PLC0415
    from onnxplain_server.adapters.runner.large_tables import LargeTables  # noqa: PLC0415
    from onnxplain_server.local import LocalMessages  # noqa: PLC0415

    workers = workers_of(executor)
    tables = LargeTables(memory_bytes, workers)
    return LocalMessages(_runner(workers), _cache(), _blobs(), _local_sources(), tables)


# Imports are local (PLC0415): most commands need neither onnxruntime nor Flask, a second each.


def _runner(workers: PredictionWorkers | None = None) -> InProcess:
    from onnxplain_server.adapters.runner.in_process import InProcess  # noqa: PLC0415

    return InProcess(
        processor_count(),
        remotes=_ask_as_user,
        workers=workers,
        surrogate_seconds=SURROGATE_SECONDS,
    )


def _ask_as_user(address: RemoteAddress, control: FetchControl) -> RemotePredictions:
    """Open a remote model for the user of this process, who may ask any."""
    from onnxplain_server.adapters.remote.open_remote import open_remote  # noqa: PLC0415
    from onnxplain_server.adapters.remote.policy import RemotePolicy  # noqa: PLC0415

    return open_remote(address, RemotePolicy(), control)


def _local_sources() -> Sources:
    from onnxplain_server.adapters.sources.local_sources import LocalSources  # noqa: PLC0415
    from onnxplain_server.config.source_variables import local_endpoints  # noqa: PLC0415

    return LocalSources(local_endpoints())


@dataclass(frozen=True, slots=True)
class _ServerRunner:
    """Runner and decoder of a server, their metrics collectors, and whether they can work now."""

    runner: Runner
    decoder: Decoder
    collectors: Sequence[Collector] = ()
    ready: Callable[[], bool] = lambda: True


def _server_runner(settings: Settings, reached: Reached, stack: ExitStack) -> _ServerRunner:
    """Make the runner and the decoder of a server, which `stack` closes."""
    limits = ModelLimits(
        settings.max_node_count,
        settings.max_output_count,
        settings.max_graph_depth,
        settings.max_tree_depth,
    )
    if settings.isolation != "none":
        return _isolated(settings, limits, reached, stack)
    from onnxplain_server.adapters.remote_server.handed_models import (  # noqa: PLC0415
        HandedModels,
    )
    from onnxplain_server.adapters.remote_server.handed_session import (  # noqa: PLC0415
        handed_session,
    )
    from onnxplain_server.adapters.runner.in_process import InProcess  # noqa: PLC0415
    from onnxplain_server.adapters.runner.local_decoder import LocalDecoder  # noqa: PLC0415
    from onnxplain_server.adapters.runner.surrounded_runner import (  # noqa: PLC0415
        SurroundedRunner,
        process_timed,
    )

    handed = HandedModels()
    in_process = InProcess(
        settings.thread_count,
        limits=limits,
        reply_bytes=settings.max_response_bytes,
        remotes=handed.open,
        surrogate_seconds=settings.surrogate_seconds,
    )
    stack.enter_context(closing(in_process))
    in_session = partial(handed_session, handed, reached.remote_sessions)
    runner = SurroundedRunner(SurroundedRunner(in_process, in_session), process_timed)
    return _ServerRunner(runner, LocalDecoder())


def _isolated(
    settings: Settings,
    limits: ModelLimits,
    reached: Reached,
    stack: ExitStack,
) -> _ServerRunner:
    """Make pools of workers; this process imports nothing of what they compute with."""
    from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerKind  # noqa: PLC0415
    from onnxplain_server.adapters.workers.isolated import Isolated, WorkerTimeouts  # noqa: PLC0415
    from onnxplain_server.adapters.workers.isolated_decoder import IsolatedDecoder  # noqa: PLC0415
    from onnxplain_server.adapters.workers.worker_metrics import WorkerState  # noqa: PLC0415
    from onnxplain_server.adapters.workers.zygote_start import StartError  # noqa: PLC0415
    from onnxplain_server.transport.metrics.cluster_metrics import ClusterCollector  # noqa: PLC0415

    worker_settings = _worker_settings(settings, limits)
    timeouts = WorkerTimeouts(settings.max_load_seconds, settings.quarantine_seconds)
    # It starts while the workers do.
    decoder = stack.enter_context(
        closing(IsolatedDecoder(replace(worker_settings, kind=WorkerKind.DECODE)))
    )
    try:
        isolated = Isolated(
            *(worker_settings, settings.running_count, settings.warm_bytes, timeouts),
            *(reached.remote_sessions, reached.block_sources, reached.cluster),
        )
        stack.enter_context(closing(isolated))
        decoder.wait_ready()
    except StartError as error:
        raise cli.CommandError(
            "CANNOT_START_WORKERS", f"no worker could be started: {error}"
        ) from None
    missing = {*isolated.counts().missing, *decoder.counts().missing}
    _check_protections(settings, sorted(missing))
    pools = WorkerState("worker", isolated.counts), WorkerState("decoder", decoder.counts)
    cluster = () if reached.cluster is None else (ClusterCollector(reached.cluster.state),)
    collectors = (*pools, *cluster)
    return _ServerRunner(isolated, decoder, collectors, lambda: isolated.ready and decoder.ready)


def _worker_settings(settings: Settings, limits: ModelLimits) -> WorkerSettings:
    from onnxplain_server.adapters.sandbox.confine import Budget  # noqa: PLC0415
    from onnxplain_server.adapters.workers.ipc.zygote_arguments import WorkerSettings  # noqa: PLC0415
    from onnxplain_server.config.redis_settings import redis_address  # noqa: PLC0415
    from onnxplain_server.config.settings import table_memory_bytes  # noqa: PLC0415

    max_seconds = settings.max_seconds
    if redis_address(settings) is not None:
        max_seconds = max(max_seconds, settings.operations_max_seconds)
    cpu_seconds = math.ceil(_CPU_LIMIT_REQUESTS * max_seconds * (settings.thread_count + 1))
    # The message and the files that it refers to.
    request_bytes = settings.max_message_bytes + settings.max_model_bytes + settings.max_table_bytes
    return WorkerSettings(
        settings.thread_count,
        max(request_bytes, settings.max_response_bytes) + _FRAME_SLACK_BYTES,
        Budget(settings.worker_bytes, cpu_seconds),
        limits,
        settings.max_response_bytes,
        memory_bytes=table_memory_bytes(settings),
        has_cluster=settings.dask_scheduler is not None,
        surrogate_seconds=settings.surrogate_seconds,
    )


def _check_protections(settings: Settings, missing: Sequence[str]) -> None:
    """Refuse to start without protections of workers that the setting requires."""
    from onnxplain_server.config.setting_names import variable_and_flag  # noqa: PLC0415

    if missing and settings.isolation == "require":
        raise cli.CommandError(
            "MISSING_PROTECTIONS",
            f"this kernel or container denies workers {', '.join(missing)}, and "
            f"{variable_and_flag('isolation')} is require; set it to available to serve trusted "
            "callers without",
        )


def _cache(byte_limit: int = _CACHE_BYTES) -> MemoryCache:
    from onnxplain_server.adapters.storage.memory_cache import MemoryCache  # noqa: PLC0415
    from onnxplain_server.adapters.storage.signing import Signer  # noqa: PLC0415

    return MemoryCache(byte_limit, Signer(secrets.token_bytes(32)))


def _blobs(byte_limit: int = _UPLOAD_BYTES, seconds: float = math.inf) -> MemoryBlobs:
    from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs  # noqa: PLC0415

    return MemoryBlobs(byte_limit, seconds)


@dataclass(frozen=True, slots=True)
class _Stores:
    """Stores of a server; without Redis, none for operations, and quotas are its own."""

    cache: Cache
    blobs: BlobStore
    operations: OperationStore | None = None
    quotas: QuotaStore | None = None
    redis_counts: Callable[[], RedisCounts] = RedisCounts


def _stores(settings: Settings) -> _Stores:
    cache = _cache(settings.cache_bytes)
    blobs = _blobs(settings.upload_bytes, settings.upload_seconds)
    from onnxplain_server.config.redis_settings import (  # noqa: PLC0415
        operation_limits,
        redis_address,
        signing_secret,
    )

    address = redis_address(settings)
    if address is None:
        return _Stores(cache, blobs)
    from onnxplain_server.adapters.storage.shared_storage import SharedStorage  # noqa: PLC0415
    from onnxplain_server.config.setting_names import SettingsError  # noqa: PLC0415

    secret = signing_secret(settings)
    try:
        shared = SharedStorage(address, secret)
    except ValueError as error:
        raise SettingsError(f"the address of Redis: {error}") from None
    return _Stores(
        shared.cache(cache, settings.cache_seconds),
        shared.blobs(blobs, settings.upload_seconds),
        shared.operations(operation_limits(settings)),
        shared.quotas(),
        shared.health.counts,
    )


def _serve(flags: Mapping[str, object], began: Began) -> None:
    from onnxplain_server import outside, serve, server_process  # noqa: PLC0415
    from onnxplain_server.config.loading import load
    from onnxplain_server.config.system_check import check_system  # noqa: PLC0415
    from onnxplain_server.telemetry import logs  # noqa: PLC0415

    settings = load(flags)
    check_system(settings)
    logs.configure(settings.log_level, settings.log_format)
    with ExitStack() as stack:
        tracer = outside.build_tracer(stack)
        reached = outside.build_reached(settings, stack)
        server_runner = _server_runner(settings, reached, stack)
        stores = _stores(settings)
        make_server = partial(
            serve.Server,
            settings,
            server_runner.runner,
            stores.cache,
            stores.blobs,
            server_runner.collectors,
            decoder=server_runner.decoder,
            ready=server_runner.ready,
            tracer=tracer,
            operations=stores.operations,
            quotas=stores.quotas,
            redis_counts=stores.redis_counts,
            sources=reached.sources,
            remote_sessions=reached.remote_sessions,
        )
        server_process.run(settings, make_server, began)


if __name__ == "__main__":
    main()
