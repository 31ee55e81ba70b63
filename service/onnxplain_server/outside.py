"""What a server reaches outside: sources of models and tables, and remote models, by its lists."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

from onnxplain_server.config.setting_names import SettingsError, variable_and_flag
from onnxplain_server.config.settings import Settings
from onnxplain_server.core.remote_sessions import RemoteSessions
from onnxplain_server.core.sources import Sources
from onnxplain_server.transport.fetched_files import NO_SOURCES
from onnxplain_server.transport.remote_models import NO_REMOTE_SESSIONS


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
