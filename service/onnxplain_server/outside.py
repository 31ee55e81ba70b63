"""Outside of a server: sources, remote models, and the collector of traces."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass

from onnxplain_server.config.cluster_settings import dask_files
from onnxplain_server.config.setting_names import SettingsError, variable_and_flag
from onnxplain_server.config.settings import Settings, table_memory_bytes
from onnxplain_server.core.remote.sessions import NO_REMOTE_SESSIONS, RemoteSessions
from onnxplain_server.core.sources import BlockSources, Sources, TaskCluster
from onnxplain_server.telemetry.tracing import UNTRACED, Tracer
from onnxplain_server.transport.fetched_files import NO_SOURCES


@dataclass(frozen=True, slots=True)
class Reached:
    """Parts that computations reach the outside by, each with a process of its own."""

    sources: Sources
    block_sources: BlockSources | None
    remote_sessions: RemoteSessions
    cluster: TaskCluster | None


def build_reached(settings: Settings, stack: ExitStack) -> Reached:
    """Make all of it, which `stack` closes; SettingsError."""
    return Reached(
        *build_sources(settings, stack),
        build_remote_sessions(settings, stack),
        build_cluster(settings, stack),
    )


def build_sources(settings: Settings, stack: ExitStack) -> tuple[Sources, BlockSources | None]:
    """Make the reader of URIs, which `stack` closes; without a list, it reads none.

    With workers it also reads tables in blocks.

    Raises
    ------
    SettingsError
    """
    if settings.sources_file is None:
        return NO_SOURCES, None
    from onnxplain_server.adapters.sources.fetcher import Fetcher  # noqa: PLC0415

    has_workers = settings.isolation != "none"
    with _list_errors("sources_file"):
        fetcher = Fetcher(
            settings.sources_file,
            _memory_bytes(settings),
            is_confined=settings.isolation == "require",
            table_memory_bytes=table_memory_bytes(settings) if has_workers else 0,
        )
    stack.enter_context(closing(fetcher))
    return fetcher, fetcher if has_workers else None


def build_remote_sessions(settings: Settings, stack: ExitStack) -> RemoteSessions:
    """Make what asks remote models, which `stack` closes; without a list, it asks none.

    Raises
    ------
    SettingsError
    """
    if settings.remote_models_file is None:
        return NO_REMOTE_SESSIONS
    from onnxplain_server.adapters.remote_server.remote_calls import RemoteCalls  # noqa: PLC0415

    with _list_errors("remote_models_file"):
        calls = RemoteCalls(
            settings.remote_models_file,
            _memory_bytes(settings),
            is_confined=settings.isolation == "require",
        )
    return stack.enter_context(closing(calls))


def build_cluster(settings: Settings, stack: ExitStack) -> TaskCluster | None:
    """Make what hands tasks to a Dask cluster, which `stack` closes; None without a scheduler.

    Raises
    ------
    SettingsError
    """
    files, setting = dask_files(settings), variable_and_flag("dask_scheduler")
    if settings.dask_scheduler is None:
        return None
    seconds = settings.dask_prediction_seconds
    has_tasks = settings.sources_file is not None or seconds is not None
    if not has_tasks or settings.isolation == "none":
        raise SettingsError(
            f"{setting} needs {variable_and_flag('sources_file')} or "
            f"{variable_and_flag('dask_prediction_seconds')}, and an isolation other than none: a "
            "cluster computes on tables of URIs, or predicts for operations, for workers"
        )
    from onnxplain_server.adapters.cluster.server.cluster_sessions import (  # noqa: PLC0415
        ClusterSessions,
    )

    try:
        sessions = ClusterSessions(
            settings.dask_scheduler,
            tuple(files),
            _memory_bytes(settings),
            is_confined=settings.isolation == "require",
            prediction_seconds=math.inf if seconds is None else seconds,
        )
    except ValueError as error:
        raise SettingsError(f"{setting}: {error}") from None
    return stack.enter_context(closing(sessions))


def build_tracer(stack: ExitStack) -> Tracer:
    """Make the tracer, which `stack` closes; one that does nothing if tracing is off."""
    from onnxplain_server.config.loading import traces

    export = traces()
    if export is None:
        return UNTRACED
    try:
        from onnxplain_server.telemetry import otel  # noqa: PLC0415
    except ModuleNotFoundError as error:
        raise SettingsError(
            f"{error.name} is not installed, but variables OTEL_* turn tracing on: install "
            "onnxplain-server[otel], or set OTEL_SDK_DISABLED=true"
        ) from None
    tracer = otel.exporting(export.exporter, export.protocol)
    stack.callback(tracer.close)
    return tracer


def _memory_bytes(settings: Settings) -> int:
    """Return the address space of a process that serves all running requests."""
    return (settings.running_count + settings.extra_count) * settings.worker_bytes


@contextmanager
def _list_errors(setting: str) -> Iterator[None]:
    from onnxplain_server.adapters.network_processes.list_file import ListError  # noqa: PLC0415

    try:
        yield
    except ListError as error:
        raise SettingsError(f"{variable_and_flag(setting)}: {error}") from None
