"""Operations: 1,000 queued by 20 callers for one server, with the pace of get and list meanwhile.

python -m bench.server.operations

Needs redis-server. Callers start theirs one after another, so an unfair queue would serve the first
caller first.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from statistics import median, quantiles

import onnxplain
from onnxplain.requests.arguments import to_request
from onnxplain_server.adapters.storage.memory_blobs import MemoryBlobs
from onnxplain_server.adapters.storage.operations.redis_operations import RedisOperations
from onnxplain_server.adapters.storage.shared_storage import SharedStorage
from onnxplain_server.core.operations import (
    NewOperation,
    Operation,
    OperationLimits,
    OperationState,
)
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.transport.admission.admission import Caller, RequestLimits
from onnxplain_server.transport.uploads import Uploads
from onnxplain_server.wire.protobuf_split import split

from bench.server.server_process import Server, served
from bench.shared.redis_process import redis_server

CALLERS, OPERATIONS = 20, 1_000
LIMIT_SECONDS = 0.02
_SECRET = "0123456789abcdef"  # noqa: S105 - of the measurement's own Redis


def main() -> None:
    names = [f"caller {number}" for number in range(CALLERS)]
    with redis_server() as url:
        store, new = SharedStorage(url, _SECRET.encode()).operations(OperationLimits()), _request()
        starts = [_timed(partial(store.start, name, new)) for name in _each(names)]
        _show("start", starts)
        with served(redis_url=url, cache_secret=_SECRET) as server:
            _measure(store, server, names)


def _measure(store: RedisOperations, server: Server, names: Sequence[str]) -> None:
    before, begin = _resident(server), time.monotonic()
    asked = _questions(store, names)
    while store.counts().states[OperationState.SUCCEEDED] < OPERATIONS:
        asked += _questions(store, names)
        time.sleep(0.05)
    seconds, after = time.monotonic() - begin, _resident(server)
    ended = [each for name in names for each in store.list(name)[0]]
    print(f"{len(ended)} operations of {CALLERS} callers in {seconds:.1f} s")
    for kind in ("get", "list"):
        _show(kind, [seconds for name, seconds in asked if name == kind])
    print(f"a caller was ahead of another by {_lead(ended)} operations at most   (fair: 1 or 2)")
    for each in ended:
        store.delete(each.owner, each.id)
    print(f"bytes kept after deletion: {store.counts().byte_count}   (0)")
    print(f"server before and after: {before / 2**20:.0f}, {after / 2**20:.0f} MiB resident")


def _each(names: Sequence[str]) -> Iterator[str]:
    """Yield the callers in blocks: all of the first, then all of the second, and so on."""
    for name in names:
        yield from [name] * (OPERATIONS // CALLERS)


def _questions(store: RedisOperations, names: Sequence[str]) -> list[tuple[str, float]]:
    """Time a list of 50 and a get for some callers."""
    found = []
    for name in names[::5]:
        found.append(("list", _timed(partial(store.list, name, page_size=50))))
        first = store.list(name, page_size=1)[0][0].id
        found.append(("get", _timed(partial(store.get, name, first))))
    return found


def _lead(ended: Sequence[Operation]) -> int:
    """Return by how many begun operations a caller with more to do was ever ahead of another."""
    begun = Counter[str]({each.owner: 0 for each in ended})
    lead = 0
    for each in sorted(ended, key=lambda it: it.start_time or 0.0):
        begun[each.owner] += 1
        lead = max(lead, max(begun.values()) - min(begun.values()))
    return lead


def _request() -> NewOperation:
    rows = {"a": [0.0, 0, 1, 1], "b": [0.0, 1, 0, 1], "y": [1.0, 3, 5, 7]}
    message = to_request(None, rows, onnxplain.Firm(), target_column="y", plots=False)
    uploads = Uploads(MemoryBlobs(2**20, 1), RequestLimits(2**20, 2**20, 1.0))
    parts = split(message.SerializeToString(), ServiceMethod.EXPLAIN)
    named = uploads.name(ServiceMethod.EXPLAIN, parts, Caller("", 1.0, lambda: False))
    ids = named.ids
    return NewOperation(
        named.request,
        named.blobs,
        model_id=ids.model,
        table_id=ids.table,
        table_form=ids.table_form,
    )


def _timed(call: Callable[[], object]) -> float:
    begin = time.perf_counter()
    call()
    return time.perf_counter() - begin


def _show(kind: str, seconds: Sequence[float]) -> None:
    late = quantiles(seconds, n=20)[-1]
    print(
        f"{kind}: {1000 * median(seconds):.1f} ms at the median, {1000 * late:.1f} ms at 95 %"
        f"   (at most {1000 * LIMIT_SECONDS:.0f} at the median)"
    )


def _resident(server: Server) -> int:
    pages = int(Path(f"/proc/{server.pid}/statm").read_text(encoding="ascii").split()[1])
    return pages * 4096


if __name__ == "__main__":
    main()
