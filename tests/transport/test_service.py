"""Service behind both transports."""

from __future__ import annotations

import math

from onnxplain.v1.explanation_service_pb2 import Progress
from onnxplain_server.adapters.runner.local_decoder import LocalDecoder
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.request import ReplyFormat, RequestParts
from onnxplain_server.transport.admission.admission import Caller, RequestLimits
from onnxplain_server.transport.admission.scheduler import Scheduler
from onnxplain_server.transport.metrics.request_metrics import Metrics
from onnxplain_server.transport.service import Service


def test_nobody_listening_to_events_ends_the_work(make_runner, endless) -> None:
    runner = make_runner(endless)
    cache = MemoryCache(0, Signer(b""))
    scheduler = Scheduler(1, 0)
    service = Service(
        runner,
        cache,
        MemoryBlobs(0, 1),
        decoder=LocalDecoder(),
        limits=RequestLimits(1, 1, 60.0),
        scheduler=scheduler,
        metrics=Metrics(),
    )
    with service.admit(Caller("ada", math.inf, lambda: False)) as ticket:
        events = service.events(RequestParts(b""), ticket, ReplyFormat.EVENT)
        first = next(iter(events))
        assert isinstance(first, Progress)
        assert first.planned == 10_000

        events.close()

    assert runner.ended.acquire(timeout=0)
