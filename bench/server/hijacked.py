"""Workers that were taken over: seconds beyond the deadline, and memory that the server takes."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "tests" / "isolation"))

from hostile import hijacked
from onnxplain_server.adapters.storage.memory_cache import MemoryCache
from onnxplain_server.adapters.storage.shared_storage import SharedStorage
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.adapters.workers.pool import WorkerPool
from onnxplain_server.adapters.workers.priority import RequestPriority
from onnxplain_server.adapters.workers.worker_client import WorkerClient
from onnxplain_server.adapters.workers.worker_process import Worker
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.interfaces import Cache, RequestHost
from onnxplain_server.transport.admission.request_context import RequestContext
from onnxplain_server.transport.admission.request_control import RequestControl

from bench.server.isolation import ORDER

OVER_SECONDS, HELD_MIB = 0.5, 100
_DEADLINE_SECONDS = 1.0
_CACHE_BYTES = 64 * 2**20
_SECRET = b"a secret of the benchmark"


class _TakenOver(WorkerClient):
    """A client whose worker is a process that was taken over."""

    worker: Worker

    def _acquire(self, _key: str, host: RequestHost) -> tuple[Worker, RequestPriority]:
        priority = self._priorities.begin(self.worker, host.caller_key)
        assert priority is not None  # noqa: S101 - nobody else asks
        return self.worker, priority


def main() -> None:
    pool = WorkerPool(ORDER, spare_count=1, warm_bytes=0)
    pool.wait_ready()
    client = _TakenOver(pool, load_seconds=10)
    print(f"deadline {_DEADLINE_SECONDS:g} s; at most {OVER_SECONDS} s and {HELD_MIB} MiB more")
    with _caches() as caches:
        for kind, cache in caches.items():
            print(f"\ncache: {kind}")
            for name, (group, _) in hijacked.BEHAVIOURS.items():
                over, held, outcome = _measure(client, cache, name)
                is_bad = over > OVER_SECONDS or held > HELD_MIB
                print(
                    f"{group:14} {name:42} {over:+6.2f} s {held:6.0f} MiB  {outcome:18}"
                    + " TOO MUCH" * is_bad
                )
    pool.close()


def _measure(client: _TakenOver, cache: Cache, name: str) -> tuple[float, float, str]:
    """Return seconds beyond the deadline, MiB at the peak, and the reason of the error."""
    with hijacked.taken_over(name) as client.worker:
        control = RequestControl(_DEADLINE_SECONDS)
        context = RequestContext(control, cache, f"{name}:", model_key=name)
        Path("/proc/self/clear_refs").write_text("5")
        before, start = _peak_mib(), time.monotonic()
        try:
            client.ask(hijacked.EXCHANGE, name, context)
        except ExplainError as error:
            seconds = time.monotonic() - start
            return seconds - _DEADLINE_SECONDS, _peak_mib() - before, error.reason.name
    raise RuntimeError("a worker that was taken over has answered")


def _peak_mib() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


@contextmanager
def _caches() -> Iterator[dict[str, Cache]]:
    """Make the caches, full: what they take is set by the operator."""
    fronts = [MemoryCache(_CACHE_BYTES, Signer(_SECRET)) for _ in range(2)]
    for front in fronts:
        for i in range(2 * _CACHE_BYTES // 2**20):
            front.put_many({str(i): bytes(2**20)})
    program = shutil.which("redis-server")
    if program is None:
        print("redis-server is not installed: without Redis")
        yield {"memory": fronts[0]}
        return
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as free:
        port = str(free.getsockname()[1])
        free.close()
        options = ["--port", port, "--save", "", "--dir", folder, "--maxmemory", "1gb"]
        server = subprocess.Popen([program, *options], stdout=subprocess.DEVNULL)
        try:
            time.sleep(1)
            shared = SharedStorage(f"redis://127.0.0.1:{port}/0", _SECRET)
            yield {"memory": fronts[0], "memory and Redis": shared.cache(fronts[1], 600)}
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    main()
