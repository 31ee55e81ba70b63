"""Scheduler, limits, quotas, metrics and audit log built from settings: what callers may use."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client.registry import Collector

from onnxplain_server.adapters.storage.memory_quotas import MemoryQuotas
from onnxplain_server.config.setting_names import SettingsError, variable_and_flag
from onnxplain_server.config.settings import Settings
from onnxplain_server.core.quotas import QuotaStore
from onnxplain_server.transport.admission.admission import RequestLimits
from onnxplain_server.transport.admission.backlog import QueueLimits
from onnxplain_server.transport.admission.quotas import NO_QUOTAS, QuotaLimits, Quotas
from onnxplain_server.transport.admission.scheduler import Scheduler
from onnxplain_server.transport.audit.audit_file import AuditFile
from onnxplain_server.transport.metrics.quota_metrics import QuotaState
from onnxplain_server.transport.metrics.request_metrics import Metrics

_READING_COUNTS = 4, 16
"""Fewest and most messages that are received at a time."""


def request_limits(settings: Settings) -> RequestLimits:
    """Return the limits of one request."""
    return RequestLimits(
        settings.max_model_bytes,
        settings.max_table_bytes,
        settings.max_seconds,
        settings.max_planned_rows,
    )


def build_scheduler(settings: Settings) -> Scheduler:
    """Make the scheduler of requests."""
    # Each can take the memory of the largest message.
    fewest, most = _READING_COUNTS
    reading_count = max(fewest, min(most, settings.waiting_bytes // settings.max_message_bytes))
    limits = QueueLimits(settings.waiting_seconds, settings.waiting_bytes, reading_count)
    counts = settings.running_count, settings.waiting_count, settings.extra_count
    return Scheduler(*counts, limits=limits)


def build_quotas(settings: Settings, store: QuotaStore | None) -> Quotas:
    """Make the quotas of callers, which a store counts; without one, this server for itself."""
    rows, seconds = settings.quota_predicted_rows, settings.quota_processor_seconds
    if rows is seconds is None:
        return NO_QUOTAS
    return Quotas(QuotaLimits(rows, seconds), store or MemoryQuotas())


def build_metrics(settings: Settings, quotas: Quotas, collectors: Iterable[Collector]) -> Metrics:
    """Make the metrics of a server, with further collectors."""
    callers = settings.metrics_callers
    return Metrics(*collectors, QuotaState(quotas), callers=callers.split(",") if callers else ())


def begin_audit(settings: Settings, metrics: Metrics) -> Callable[[], None]:
    """Begin the audit log; return a function that closes it.

    Raises
    ------
    SettingsError
        If its file cannot be opened.
    """
    if settings.audit_log == "off":
        return lambda: None
    try:
        audit_file = AuditFile(settings.audit_log, metrics.audit_failed)
    except OSError as error:
        name = variable_and_flag("audit_log")
        raise SettingsError(f"{name}: {settings.audit_log}: {error.strerror}") from None
    metrics.on_explanation(audit_file)
    return audit_file.close
