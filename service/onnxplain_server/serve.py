"""The server as one process: both transports over one runner."""

from __future__ import annotations

import gc
import logging
import os
import resource
import signal
import socket
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from types import FrameType

from prometheus_client.registry import Collector

from onnxplain_server.access import Access, access
from onnxplain_server.config.settings import Settings
from onnxplain_server.core.interfaces import BlobStore, Cache, Runner
from onnxplain_server.telemetry.tracing import UNTRACED, Tracer
from onnxplain_server.transport.admission.admission import RequestLimits
from onnxplain_server.transport.admission.scheduler import Scheduler
from onnxplain_server.transport.grpc.grpc_server import GrpcServer
from onnxplain_server.transport.metrics.metrics_page import create_metrics_app
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.metrics.state_metrics import StateCollector
from onnxplain_server.transport.readiness import ReadinessWatcher
from onnxplain_server.transport.rest.rest_access import refusal_unread
from onnxplain_server.transport.rest.rest_server import RestServer
from onnxplain_server.transport.rest.routes import create_app
from onnxplain_server.transport.service import Service

LOG = logging.getLogger(__name__)

# What replies need to leave, and ended calls to notice it.
_LAST_SECONDS = 1.0

# For health to be heard of; shorter than those who are refused are told to wait, or they would come
# back here.
_NEWS_SECONDS = 0.5

_FILE_COUNT = 65_536

# Scrapers send no body.
_SCRAPE_BYTES = 1024


@dataclass(frozen=True, slots=True)
class _Shared:
    """What both transports are made of."""

    settings: Settings
    service: Service
    metrics: Metrics
    admitted: Access
    tracer: Tracer
    thread_count: int


class Server:
    """A running server; listens from its construction on.

    Parameters
    ----------
    settings : Settings
        Ports 0 take free ones; `rest_port`, `grpc_port` and `metrics_port` tell which.
    runner : Runner
        Does the work.
    cache : Cache
        Shared by all requests.
    store : BlobStore
        Keeps uploaded files.
    collectors : sequence of Collector
        What else is shown as metrics.
    ready : callable () -> bool
        Whether the runner can do work now; probes are told.
    tracer : Tracer
        Records the requests.

    Raises
    ------
    OSError
        Where a port cannot be had.
    SettingsError
        Where a file that a setting names cannot be used.
    """

    def __init__(
        self,
        settings: Settings,
        runner: Runner,
        cache: Cache,
        store: BlobStore,
        collectors: Sequence[Collector] = (),
        *,
        ready: Callable[[], bool] = lambda: True,
        tracer: Tracer = UNTRACED,
    ) -> None:
        self._scheduler = Scheduler(
            settings.running_count, settings.waiting_count, settings.extra_count
        )
        limits = RequestLimits(
            settings.max_model_bytes,
            settings.max_table_bytes,
            settings.max_seconds,
            settings.max_planned_rows,
        )
        admitted = access(settings)
        metrics = Metrics()
        for collector in (StateCollector(self._scheduler, cache), *collectors):
            metrics.registry.register(collector)
        service = Service(
            runner,
            cache,
            store,
            limits=limits,
            scheduler=self._scheduler,
            metrics=metrics,
            ready=ready,
        )
        with ExitStack() as opened:
            shared = _Shared(
                settings, service, metrics, admitted, tracer, self._scheduler.thread_count
            )
            self._rest = _rest(shared)
            opened.callback(self._rest.stop, 0)
            self._grpc = _grpc(shared)
            opened.callback(self._grpc.stop, 0, 0)
            self._metrics = _metrics(settings, metrics)
            opened.pop_all()
        self._readiness = ReadinessWatcher(lambda: service.ready, self._grpc.set_ready)
        self.rest_port = self._rest.port
        self.grpc_port = self._grpc.port
        self.metrics_port = self._metrics.port

    def drain(self, seconds: float) -> bool:
        """Refuse new work, give running work its time, then close.

        Returns
        -------
        bool
            Whether all work has ended: by itself, or soon after it was told to.
        """
        end = time.monotonic() + seconds
        self._scheduler.close()
        self._readiness.stop()
        self._grpc.announce_stop()
        self._rest.announce_stop()
        ended = self._scheduler.wait_idle(min(_NEWS_SECONDS, seconds))
        left = max(0.0, end - time.monotonic())
        # From now on its clients connect elsewhere, while their calls here go on.
        closing = threading.Thread(
            target=self._grpc.stop, args=(left + _LAST_SECONDS, _LAST_SECONDS)
        )
        closing.start()
        ended = ended or self._scheduler.wait_idle(left)
        if not ended:
            self._scheduler.cancel_all()
            ended = self._scheduler.wait_idle(_LAST_SECONDS)
        self._rest.stop(max(_LAST_SECONDS, end - time.monotonic()))
        closing.join()
        self._metrics.stop(0)
        return ended


def run(
    settings: Settings,
    runner: Runner,
    cache: Cache,
    store: BlobStore,
    collectors: Sequence[Collector] = (),
    *,
    ready: Callable[[], bool] = lambda: True,
    tracer: Tracer = UNTRACED,
) -> None:
    """Serve until SIGTERM or SIGINT, then drain. To be called on the main thread.

    Raises
    ------
    OSError
        Where a port cannot be had.
    """
    # It tells of every client that leaves; the request's own line does too.
    logging.getLogger("waitress").setLevel(logging.WARNING)
    wait_signal = _catch_signals()
    _allow_connections()
    server = Server(settings, runner, cache, store, collectors, ready=ready, tracer=tracer)
    gc.freeze()  # else it is searched again and again, and all requests wait for 100 ms
    LOG.info("metrics on %s:%d, REST on %s:%d, gRPC on %s:%d", *_addresses(settings, server))
    wait_signal()
    LOG.info("stopping; running work has %g s", settings.grace_seconds)
    start = time.monotonic()
    ended = server.drain(settings.grace_seconds)
    LOG.info("stopped after %.1f s", time.monotonic() - start)
    if not ended:
        LOG.warning("work that could not be stopped was left behind")
        logging.shutdown()
        # Python would wait for the threads of that work, perhaps for ever.
        os._exit(0)


def _catch_signals() -> Callable[[], None]:
    """Keep SIGTERM and SIGINT from ending the process; what waits for the first of them."""
    woken, waker = socket.socketpair()
    waker.setblocking(False)

    def begin(number: int, _frame: FrameType | None) -> None:
        # A second signal ends the process at once.
        signal.signal(number, signal.SIG_DFL)

    def wait() -> None:
        with woken, waker:
            woken.recv(1)
            signal.set_wakeup_fd(-1)

    # A lock would not do: no signal ends its wait that came a moment before, or to another thread.
    signal.set_wakeup_fd(waker.fileno())
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, begin)
    return wait


def _allow_connections() -> None:
    """Have room for many that idle until they are closed, as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = _FILE_COUNT if hard == resource.RLIM_INFINITY else min(_FILE_COUNT, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def _addresses(settings: Settings, server: Server) -> tuple[str | int, ...]:
    rest_host = settings.rest_host or settings.host
    return (
        *(settings.host, server.metrics_port),
        *(rest_host, server.rest_port),
        *(settings.host, server.grpc_port),
    )


def _metrics(settings: Settings, metrics: Metrics) -> RestServer:
    app = create_metrics_app(metrics.registry)
    return RestServer(
        app,
        "metrics",
        settings.host,
        settings.metrics_port,
        thread_count=0,
        message_bytes=_SCRAPE_BYTES,
    )


def _rest(shared: _Shared) -> RestServer:
    settings, callers = shared.settings, shared.admitted.callers
    most = settings.max_message_bytes
    app = create_app(shared.service, shared.metrics, most, callers, shared.tracer)
    return RestServer(
        app,
        "REST",
        settings.rest_host or settings.host,
        settings.rest_port,
        thread_count=shared.thread_count,
        message_bytes=most,
        refused=shared.metrics.rejected,
        refusal=refusal_unread(app, callers),
    )


def _grpc(shared: _Shared) -> GrpcServer:
    settings = shared.settings
    host = f"[{settings.host}]" if ":" in settings.host else settings.host
    return GrpcServer(
        shared.service,
        shared.metrics,
        f"{host}:{settings.grpc_port}",
        shared.admitted.callers,
        tracer=shared.tracer,
        certificates=shared.admitted.certificates,
        thread_count=shared.thread_count,
        message_bytes=settings.max_message_bytes,
        longest_seconds=settings.max_seconds,
    )
