"""Server: both transports over one service, and the graceful drain."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from prometheus_client.registry import Collector

from onnxplain_server import usage
from onnxplain_server.access import Access, build_access, build_page
from onnxplain_server.config.settings import Settings
from onnxplain_server.core.interfaces import BlobStore, Cache, Decoder, Runner
from onnxplain_server.core.operation_store import OperationStore, RedisCounts
from onnxplain_server.core.quotas import QuotaStore
from onnxplain_server.core.remote.sessions import NO_REMOTE_SESSIONS, RemoteSessions
from onnxplain_server.core.sources import Sources
from onnxplain_server.explainer import build_explainer
from onnxplain_server.telemetry.tracing import UNTRACED, Tracer
from onnxplain_server.transport.admission.scheduler import Scheduler
from onnxplain_server.transport.admission.size_limits import BodyLimits
from onnxplain_server.transport.explainer.explainer import Explainer
from onnxplain_server.transport.explainer.row_service import RowService
from onnxplain_server.transport.fetched_files import NO_SOURCES
from onnxplain_server.transport.grpc.grpc_server import GrpcServer
from onnxplain_server.transport.metrics.metrics_page import create_metrics_app
from onnxplain_server.transport.metrics.operation_metrics import OperationCollector
from onnxplain_server.transport.metrics.redis_metrics import RedisCollector
from onnxplain_server.transport.metrics.remote_metrics import RemoteCollector
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.metrics.state_metrics import StateCollector, UnreadCollector
from onnxplain_server.transport.operations.executor import OperationExecutor
from onnxplain_server.transport.operations.operation_calls import WAIT_LIMIT
from onnxplain_server.transport.readiness import ReadinessWatcher
from onnxplain_server.transport.rest.connections.connection_limit import ConnectionLimit
from onnxplain_server.transport.rest.origin_policy import OriginPolicy
from onnxplain_server.transport.rest.rest_access import header_check
from onnxplain_server.transport.rest.rest_server import RestServer
from onnxplain_server.transport.rest.routes import create_app
from onnxplain_server.transport.service import Service
from onnxplain_server.transport.unread_replies import UnreadReplies

LOG = logging.getLogger(__name__)

# For replies to be sent, and cancelled calls to end.
_LAST_SECONDS = 1.0

# Time for health checks to notice the drain; shorter than the retry delay of refused requests,
# which would otherwise come back here.
_NEWS_SECONDS = 0.5

_SCRAPE_BYTES = 1024  # scrapers send no body


@dataclass(frozen=True, slots=True)
class _Shared:
    """Parts shared by both transports."""

    settings: Settings
    service: Service
    metrics: Metrics
    access: Access
    tracer: Tracer
    thread_count: int
    explainer: Explainer | None
    unread: UnreadReplies
    connection_limit: ConnectionLimit


class Server:
    """Running server; listens from construction on.

    Parameters
    ----------
    settings : Settings
        Port 0 chooses a free port; see `rest_port`, `grpc_port` and `metrics_port`.
    runner : Runner
        Computes.
    cache : Cache
        Shared by all requests.
    store : BlobStore
        Holds uploaded files.
    collectors : sequence of Collector
        Further collectors of the metrics page.
    decoder : Decoder
    ready : callable () -> bool
        Whether the runner can compute now; readiness probes report it.
    tracer : Tracer
    operations : OperationStore, optional
        Keeps the operations; without it, none can be started.
    quotas : QuotaStore, optional
        Counts what callers use; without it, each server counts for itself.
    redis_counts : callable () -> RedisCounts
        Statistics of Redis for the metrics page.
    sources : Sources
        Reads models and tables by their URIs; by default, none may be read.
    remote_sessions : RemoteSessions
        Tell which remote models may be asked; by default, none.

    Raises
    ------
    OSError
        If a port cannot be bound.
    SettingsError
        If a file of a setting cannot be used.
    """

    # Long: it is given the parts of a server, and connects them in their order.
    def __init__(
        self,
        settings: Settings,
        runner: Runner,
        cache: Cache,
        store: BlobStore,
        collectors: Sequence[Collector] = (),
        *,
        decoder: Decoder,
        ready: Callable[[], bool] = lambda: True,
        tracer: Tracer = UNTRACED,
        operations: OperationStore | None = None,
        quotas: QuotaStore | None = None,
        redis_counts: Callable[[], RedisCounts] = RedisCounts,
        sources: Sources = NO_SOURCES,
        remote_sessions: RemoteSessions = NO_REMOTE_SESSIONS,
    ) -> None:
        self._scheduler = scheduler = usage.build_scheduler(settings)
        self._explainer: Explainer | None = None
        access = build_access(settings)
        quota = usage.build_quotas(settings, quotas)
        self._unread = unread = UnreadReplies(settings.unread_memory_bytes)
        self._connection_limit = limit = ConnectionLimit(settings.unread_disk_bytes)
        state = (
            StateCollector(scheduler, cache, store),
            OperationCollector(operations),
            RemoteCollector(remote_sessions),
            UnreadCollector({"memory": unread, "disk": limit}),
            RedisCollector(redis_counts),
        )
        metrics = usage.build_metrics(settings, quota, (*state, access.state, *collectors))
        service = RowService(
            *(runner, cache, store),
            decoder=decoder,
            limits=usage.request_limits(settings),
            scheduler=scheduler,
            metrics=metrics,
            ready=lambda: ready() and (self._explainer is None or self._explainer.ready),
            operations=operations,
            quotas=quota,
            sources=sources,
            remote_sessions=remote_sessions,
        )
        with ExitStack() as opened:
            opened.callback(unread.close)
            self._close_audit = opened.callback(usage.begin_audit(settings, metrics))
            self._explainer = build_explainer(settings, service, sources)
            if self._explainer is not None:
                opened.callback(self._explainer.stop)
            shared = _Shared(
                *(settings, service, metrics, access, tracer, scheduler.thread_count),
                *(self._explainer, unread, limit),
            )
            self._rest = _rest(shared)
            opened.callback(self._rest.stop, 0)
            self._grpc = _grpc(shared)
            opened.callback(self._grpc.stop, 0, 0)
            self._metrics = _metrics(settings, metrics)
            opened.pop_all()
        self._executor = _executor(settings, service, scheduler)
        self._readiness = ReadinessWatcher(lambda: service.ready, self._grpc.set_ready)
        servers = self._rest, self._grpc, self._metrics
        self.rest_port, self.grpc_port, self.metrics_port = (server.port for server in servers)

    def drain(self, seconds: float) -> bool:
        """Drain gracefully: refuse new work, let running work finish in time, then close.

        Returns
        -------
        bool
            Whether all work has ended, by itself or soon after being cancelled.
        """
        end = time.monotonic() + seconds
        self._scheduler.close()
        self._readiness.stop()
        self._grpc.announce_stop()
        self._rest.announce_stop()
        ended = self._scheduler.wait_idle(min(_NEWS_SECONDS, seconds))
        remaining = max(0.0, end - time.monotonic())
        # GOAWAY: clients connect elsewhere, while their calls here continue.
        closing = threading.Thread(
            target=self._grpc.stop, args=(remaining + _LAST_SECONDS, _LAST_SECONDS)
        )
        closing.start()
        ended = ended or self._scheduler.wait_idle(remaining)
        if not ended:
            self._scheduler.cancel_all()
            ended = self._scheduler.wait_idle(_LAST_SECONDS)
        if self._executor is not None:
            self._executor.stop(_LAST_SECONDS)
        self._rest.stop(max(_LAST_SECONDS, end - time.monotonic()))
        closing.join()
        self._metrics.stop(0)
        self._close_audit()
        self._unread.close()
        return ended


def _executor(
    settings: Settings, service: Service, scheduler: Scheduler
) -> OperationExecutor | None:
    if service.operations is None:
        return None
    thread_count, seconds = settings.running_count, settings.operations_max_seconds
    return OperationExecutor(
        *(service.operations, service, scheduler), thread_count=thread_count, seconds=seconds
    )


def _metrics(settings: Settings, metrics: Metrics) -> RestServer:
    app = create_metrics_app(metrics.registry)
    return RestServer(
        app,
        "metrics",
        settings.host,
        settings.metrics_port,
        thread_count=0,
        body_limits=BodyLimits(_SCRAPE_BYTES),
        origin_policy=OriginPolicy.of(settings.allowed_hosts, settings.allowed_origins),
    )


def _rest(shared: _Shared) -> RestServer:
    settings, authenticator = shared.settings, shared.access.authenticator
    byte_limit = settings.max_message_bytes
    uploads = {f"/v1/{part}s": size for part, size in shared.service.upload_limits.items()}
    policy = OriginPolicy.of(settings.allowed_hosts, settings.allowed_origins)
    app = create_app(
        shared.service,
        shared.metrics,
        byte_limit,
        authenticator=authenticator,
        check_unread=shared.connection_limit.check,
        tracer=shared.tracer,
        origin_policy=policy,
        explainer=shared.explainer,
        page=build_page(settings, shared.service, shared.access),
    )
    return RestServer(
        app,
        "REST",
        settings.rest_host or settings.host,
        settings.rest_port,
        thread_count=shared.thread_count + (WAIT_LIMIT if shared.service.operations else 0),
        body_limits=BodyLimits(byte_limit, uploads),
        count_refused=shared.metrics.rejected,
        explanation_ended=shared.metrics.explanation_ended,
        check_headers=header_check(app, authenticator),
        origin_policy=policy,
        longest_seconds=settings.max_seconds,
        response_bytes=settings.max_response_bytes,
        connection_limit=shared.connection_limit,
    )


def _grpc(shared: _Shared) -> GrpcServer:
    settings = shared.settings
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return GrpcServer(
        shared.service,
        shared.metrics,
        f"{host}:{settings.grpc_port}",
        shared.access.authenticator,
        tracer=shared.tracer,
        certificates=shared.access.certificates,
        thread_count=shared.thread_count,
        message_bytes=settings.max_message_bytes,
        response_bytes=settings.max_response_bytes,
        waiting_bytes=settings.waiting_bytes,
        unread=shared.unread,
        explainer=shared.explainer,
        longest_seconds=settings.max_seconds,
    )
