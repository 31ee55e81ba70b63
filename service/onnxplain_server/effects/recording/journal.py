"""Journal: a write-ahead log, in the cache, of work whose number is not finished yet.

An effect reaches the cache when it is complete. Until then the journal holds its parts: where the
process dies, the next attempt at the same work finds them. Records are addressed by their content
(digests of rows, grids and weights), and written about twice per second into slots that are used
again as soon as the effect is complete, so that unfinished work alone takes room.
"""

from __future__ import annotations

import hashlib
import struct
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager

import numpy as np

from onnxplain_server.core.arrays import Array
from onnxplain_server.effects.ledger import Ledger

_VERSION = "1"
_SECONDS_BETWEEN_WRITES = 0.5
"""A dead process loses so much: 5 % of ten seconds of work."""
_SLOTS_PER_READ = 8
_PROBED_SLOTS = (0, 1, 2, 4, 8, 16, 32, 64)
"""One of these is there, if any slot is: most journals are empty, and cost one read."""
_EMPTY_READS = 4
"""Reads without any slot after which a journal has ended. Slots are missing that were written while
Redis was left out, for some seconds."""
_SLOT_BYTES = 2 << 20
_MAX_BYTES = 64 << 20
"""Of the records of a journal that are held at once, and half of those that it ever writes: more
unfinished work is not recorded, so that finished numbers keep their share of the cache."""
_RECORD = struct.Struct("<16scB")
_DTYPES: Mapping[bytes, str] = {b"d": "<f8", b"f": "<f4"}


def digest(parts: Iterable[bytes]) -> bytes:
    """Digest the content of a record's work: 16 bytes."""
    content = hashlib.blake2b(digest_size=16)
    for part in parts:
        content.update(len(part).to_bytes(8, "little"))
        content.update(part)
    return content.digest()


class Journal:
    """Journal of one engine on its rows. Thread-safe.

    Parameters
    ----------
    ledger : Ledger
    scope : str
        All that the records depend on beside model and content: scale, rows, outputs.
    clock : callable () -> float
        Seconds; decides when to write, and nothing else.
    """

    def __init__(
        self, ledger: Ledger, scope: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._ledger = ledger
        self._scope = scope
        self._clock = clock
        self._lock = threading.Lock()
        self._found: dict[bytes, Array] | None = None
        self._pending: dict[bytes, Array] = {}
        self._slots: list[dict[bytes, int]] = []
        self._written = clock()
        self._depth = 0
        self._total = 0
        self._touched: set[bytes] = set()
        self._thread = threading.local()
        self._keys: list[bytes] | None = None

    @contextmanager
    def unit(self) -> Iterator[None]:
        """Run a piece of work whose number is cached at its end: its records are then released.

        Units may be nested; the outermost counts. After an error the records stay, pending ones
        too are written: the work will be begun again.
        """
        self._depth += 1
        if self._depth == 1:
            self._written = self._clock()
        try:
            yield
        except BaseException:
            self._depth -= 1
            self.write()
            raise
        self._depth -= 1
        if self._depth == 0:
            self.release()

    @contextmanager
    def part(self) -> Iterator[list[bytes]]:
        """Collect the keys that this thread records, for `replace`."""
        keys: list[bytes] = []
        self._thread.keys = keys
        try:
            yield keys
        finally:
            del self._thread.keys

    @contextmanager
    def parts(self) -> Iterator[list[bytes]]:
        """Collect the keys that all threads record, for `replace`; not beside `part`."""
        keys: list[bytes] = []
        self._keys = keys
        try:
            yield keys
        finally:
            self._keys = None

    def release(self) -> None:
        """Forget the records that were written or used since the last call: slots become free.

        Those of an earlier attempt that nothing has asked for yet stay.
        """
        with self._lock:
            self._forget(self._touched)
            self._touched = set()

    def _forget(self, keys: Set[bytes]) -> None:
        found = self._found or {}
        for key in keys:
            self._pending.pop(key, None)
            found.pop(key, None)
        for slot in self._slots:
            for key in slot.keys() & keys:
                del slot[key]

    @property
    def has_records(self) -> bool:
        """Return whether an earlier attempt left records that are not used up."""
        return bool(self._earlier())

    def get(self, key: bytes) -> Array | None:
        """Return the numbers of a record, float64; None where there is none."""
        values = self._earlier().get(key)
        if values is not None:
            with self._lock:
                self._touched.add(key)
        return values

    def put(self, key: bytes, values: Array) -> None:
        """Record float64 numbers of finished work, and write what is pending if it is time."""
        keys = getattr(self._thread, "keys", self._keys)
        with self._lock:
            if keys is not None:
                keys.append(key)
            self._touched.add(key)
            self._pending[key] = values
            if self._clock() - self._written < _SECONDS_BETWEEN_WRITES:
                return
        self.write()

    def replace(self, keys: Iterable[bytes], records: Mapping[bytes, Array]) -> None:
        """Record numbers in place of the records that they were computed from."""
        with self._lock:
            self._forget(set(keys))
        for key, values in records.items():
            self.put(key, values)

    def write(self) -> None:
        """Write what is pending into free slots."""
        self._earlier()
        with self._lock:
            self._written = self._clock()
            pending, self._pending = self._pending, {}
            held = self._held()
            if held > _MAX_BYTES // 2:
                self._forget(set(self._found or ()) - self._touched)  # of other requests, perhaps
                held = self._held()
            contents: dict[str, bytes] = {}
            for records in _slots_of(pending):
                content = b"".join(records.values())
                held, self._total = held + len(content), self._total + len(content)
                if held > _MAX_BYTES or self._total > 2 * _MAX_BYTES:
                    break
                contents[self._name(self._occupy(records))] = content
        if contents:
            self._ledger.put_bytes(contents)

    def _held(self) -> int:
        return sum(sum(slot.values()) for slot in self._slots)

    def _occupy(self, records: Mapping[bytes, bytes]) -> int:
        """Return the number of a free slot, and note the size of its records."""
        free = next((i for i, slot in enumerate(self._slots) if not slot), len(self._slots))
        sizes = {key: len(record) for key, record in records.items()}
        self._slots[free : free + 1] = [sizes]
        return free

    def _earlier(self) -> dict[bytes, Array]:
        """Read the records of an earlier attempt, once."""
        if self._found is not None:
            return self._found
        with self._lock:
            if self._found is None:
                found: dict[bytes, Array] = {}
                for content in self._read():
                    records = {} if content is None else _decode(content)
                    size = len(content or b"") // max(len(records), 1)
                    self._slots.append(dict.fromkeys(records, size))
                    found |= records
                self._found = found
        return self._found

    def _read(self) -> Iterator[bytes | None]:
        """Yield the slots in order, None for a missing one."""
        if not any(map(bool, self._contents(_PROBED_SLOTS))):
            return
        first = empty_reads = 0
        while empty_reads < _EMPTY_READS:
            contents = self._contents(range(first, first + _SLOTS_PER_READ))
            yield from contents
            empty_reads = 0 if any(map(bool, contents)) else empty_reads + 1
            first += _SLOTS_PER_READ

    def _contents(self, slots: Iterable[int]) -> Sequence[bytes | None]:
        return self._ledger.get_bytes([self._name(slot) for slot in slots])

    def _name(self, slot: int) -> str:
        text = "\n".join(("journal", _VERSION, self._scope, str(slot)))
        return hashlib.sha256(text.encode()).hexdigest()


def _slots_of(records: Mapping[bytes, Array]) -> Iterator[dict[bytes, bytes]]:
    """Serialize records, and divide them into slots; one too large for a slot is left out."""
    slot: dict[bytes, bytes] = {}
    size = 0
    for key, values in records.items():
        record = _encode(key, values)
        if len(record) > _SLOT_BYTES:
            continue
        if size + len(record) > _SLOT_BYTES:
            yield slot
            slot, size = {}, 0
        slot[key] = record
        size += len(record)
    if slot:
        yield slot


def _encode(key: bytes, values: Array) -> bytes:
    """Serialize a record: key, type, shape, numbers; as float32 where that keeps every bit."""
    code, stored = b"d", values.astype("<f8")
    with np.errstate(over="ignore", invalid="ignore"):
        short = stored.astype("<f4")
    if short.astype("<f8").tobytes() == stored.tobytes():
        code, stored = b"f", short
    shape = struct.pack(f"<{values.ndim}Q", *values.shape)
    return _RECORD.pack(key, code, values.ndim) + shape + stored.tobytes()


def _decode(content: bytes) -> dict[bytes, Array]:
    """Read the records of a slot; none where it is damaged."""
    records: dict[bytes, Array] = {}
    offset = 0
    try:
        while offset < len(content):
            key, code, rank = _RECORD.unpack_from(content, offset)
            shape = struct.unpack_from(f"<{rank}Q", content, offset + _RECORD.size)
            start = offset + _RECORD.size + 8 * rank
            count = int(np.prod(shape))
            dtype = np.dtype(_DTYPES[code])
            numbers = np.frombuffer(content, dtype, count, start)
            records[key] = numbers.reshape(shape).astype(np.float64)
            offset = start + count * dtype.itemsize
    except (struct.error, ValueError, KeyError):
        return {}
    return records
