"""What a server reaches outside: sources, remote models, and the collector of traces."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

from onnxplain_server.config.setting_names import SettingsError, variable_and_flag
from onnxplain_server.config.settings import Settings
from onnxplain_server.core.remote_sessions import NO_REMOTE_SESSIONS, RemoteSessions
from onnxplain_server.core.sources import Sources
from onnxplain_server.telemetry.tracing import UNTRACED, Tracer
from onnxplain_server.transport.fetched_files import NO_SOURCES


def build_sources(settings: Settings, stack: ExitStack) -> Sources:
    """Make the reader of URIs, which `stack` closes; without a list, it reads none.

    Raises
    ------
    SettingsError
    """
    if settings.sources_file is None:
        return NO_SOURCES
    from onnxplain_server.adapters.sources.fetcher import Fetcher  # noqa: PLC0415

    with _list_errors("sources_file"):
        fetcher = Fetcher(
            settings.sources_file,
            _memory_bytes(settings),
            is_confined=settings.isolation == "require",
        )
    return stack.enter_context(closing(fetcher))


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
    from onnxplain_server.adapters.listed.list_file import ListError  # noqa: PLC0415

    try:
        yield
    except ListError as error:
        raise SettingsError(f"{variable_and_flag(setting)}: {error}") from None
