"""Protocols between layers: hosts of computations, cache, store of uploads, decoder, runner.

Transports, adapters and computations see each other only through these.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Protocol, TypeAlias

from onnxplain_server.core.counts.remote_counts import RemoteUse
from onnxplain_server.core.request import (
    BLOCKS_FORM,
    CLUSTER_FORM,
    NO_IDS,
    REMOTE_FORM,
    Body,
    Reply,
    ReplyFormat,
    RequestFile,
    RequestIds,
    RequestParts,
    ServiceMethod,
)
from onnxplain_server.core.sources import FetchControl, TableHost

Began: TypeAlias = Callable[[int, int], None]
"""Told the ports of REST and of gRPC, once a server listens."""


class ComputationHost(Protocol):
    """Host of a computation: receives its progress and offers it a cache."""

    def advance(self, done: float, planned: float) -> None:
        """Report progress, in rows: `planned` is an upper bound that never rises.

        Raises
        ------
        ExplainError
            DEADLINE_EXCEEDED or CANCELLED; the computation then ends.
        """

    def single_flight(self, name: str) -> AbstractContextManager[bool]:
        """Deduplicate concurrent work: inside the context, others with the same name wait.

        Inside, look into the cache once more: after waiting, the result may be
        there. This saves work but guarantees nothing: two may be inside at once.

        Returns
        -------
        context manager of bool
            Whether no other did the work meanwhile; False too when waiting took
            too long.

        Raises
        ------
        ExplainError
            As `advance`, on entering.
        """

    def cache_get(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """Return cached numbers, in as few round trips as the cache takes; None for each miss."""

    def cache_put(self, entries: Mapping[str, bytes]) -> None:
        """Offer numbers to the cache, which may drop them."""


@dataclass(frozen=True, slots=True, eq=False)
class Host:
    """`ComputationHost` as a value, changed by `dataclasses.replace`.

    By default it takes progress, never waits, finds nothing cached and caches nothing.

    Attributes
    ----------
    advance, single_flight, cache_get, cache_put : callable
        See `ComputationHost`.
    """

    advance: Callable[[float, float], None] = lambda _done, _planned: None
    single_flight: Callable[[str], AbstractContextManager[bool]] = lambda _name: nullcontext(True)
    cache_get: Callable[[Sequence[str]], Sequence[bytes | None]] = lambda names: [None] * len(names)
    cache_put: Callable[[Mapping[str, bytes]], None] = lambda _entries: None

    @classmethod
    def of(cls, host: ComputationHost) -> Host:
        """Return a value that does what a host does."""
        return cls(host.advance, host.single_flight, host.cache_get, host.cache_put)


class AnswerHost(ComputationHost, TableHost, Protocol):
    """Host of an answer: takes parts of it on the way, and the table of its rows."""

    def publish(self, part: bytes) -> None:
        """Publish part of an answer that is not finished, encoded as an event."""


class RequestHost(AnswerHost, Protocol):
    """Host of a request in a runner: adds the keys for sharing processes and processor time."""

    @property
    def model_key(self) -> str:
        """Key of caller and model: only requests with the same key may share a process."""

    @property
    def caller_key(self) -> Hashable:
        """Key of the caller, for sharing the processor fairly."""

    def count_processor(self, seconds: float) -> None:
        """Count processor time of a process that worked for the request."""

    def cache_get(
        self, names: Sequence[str], byte_limit: float = math.inf
    ) -> Sequence[bytes | None]:
        """As `ComputationHost.cache_get`, for the first names only once there are so many bytes."""


class SessionHost(Protocol):
    """Host of a request, as a session with a remote model sees it."""

    @property
    def control(self) -> FetchControl:
        """Deadline and cancellation."""

    def count_remote(self, use: RemoteUse) -> None:
        """Count calls of a remote model that were made for the request."""


class RunnerHost(RequestHost, SessionHost, Protocol):
    """Host of a request that may ask a remote model, or a cluster."""

    @property
    def planned_seconds(self) -> float:
        """Least time of the request by its plan; 0 without one."""


@dataclass(frozen=True, slots=True)
class CacheCounts:
    """Cache statistics since the start.

    Attributes
    ----------
    hit_count, miss_count, error_count : int
        Numbers found, not found, and unreadable; failed stores count as errors too.
    byte_count : int
        Current size in this process.
    coalesced_count : int
        Computations deduplicated by `Cache.single_flight`.
    """

    hit_count: int
    miss_count: int
    error_count: int
    byte_count: int
    coalesced_count: int = 0


GoOn: TypeAlias = Callable[[int], bool]
"""Tells by the bytes that were read whether a cache reads further names; see `Cache.get_many`."""
Values: TypeAlias = Sequence[bytes | None]


class Cache(Protocol):
    """Cache of numbers by name, shared by requests. A failing cache costs time, never an answer."""

    def single_flight(
        self, name: str, keep_waiting: Callable[[], bool]
    ) -> AbstractContextManager[bool]:
        """See `ComputationHost.single_flight`.

        Parameters
        ----------
        name : str
        keep_waiting : callable () -> bool
            Called several times per second while another is inside; an error
            that it raises ends the waiting.
        """

    def get_many(self, names: Sequence[str], go_on: GoOn = lambda _bytes: True) -> Values:
        """Return values, in batches that the cache bounds; None for each missing or damaged one.

        Parameters
        ----------
        names : sequence of str
        go_on : callable (bytes so far) -> bool
            Called before each batch but the first. False ends: only values of the first names are
            returned then. An error that it raises is passed on.
        """

    def put_many(self, entries: Mapping[str, bytes]) -> None:
        """Store the values, or drop them."""

    def counts(self) -> CacheCounts:
        """Return the statistics."""


Blobs: TypeAlias = Mapping[str, RequestFile]
"""Files that a request refers to, by id: uploaded ones, and those that it holds itself."""
NO_BLOBS: Blobs = MappingProxyType({})


def on_cluster(blobs: Blobs) -> RequestFile | None:
    """Return the files of what a cluster computes: those of a table in blocks, none of predictions.

    None where it computes nothing, as beside a remote model.
    """
    forms = {blob.form: blob for blob in blobs.values()}
    return None if REMOTE_FORM in forms else forms.get(BLOCKS_FORM) or forms.get(CLUSTER_FORM)


@dataclass(frozen=True, slots=True)
class StoreCounts:
    """Uploaded files in the memory of this process."""

    file_count: int
    byte_count: int


class BlobStore(Protocol):
    """Store of uploaded files, by name and for a limited time. Any file may be evicted at any time.

    A name begins with its owner, up to the first colon: eviction takes files of
    the owner with most bytes first.
    """

    @property
    def byte_limit(self) -> int:
        """Size of the largest file that it stores."""

    def get(self, name: str) -> RequestFile | None:
        """Return a file; None if it is missing or damaged."""

    def put(self, name: str, blob: RequestFile) -> None:
        """Store a file, evicting others if necessary; storing it again renews its time."""

    def counts(self) -> StoreCounts:
        """Return the statistics."""


class Decoder(Protocol):
    """Decoder of REST bodies, as transports see it: it sees files as bytes, and loads no model."""

    def decode(self, body: Body, host: RequestHost) -> RequestParts:
        """Decode a body and split it into envelope, model and table; ExplainError if it fails."""


@dataclass(frozen=True, slots=True, eq=False)
class Call:
    """Call of a runner.

    Attributes
    ----------
    method : ServiceMethod
    request : bytes
        Serialised request of the method; see `wire.calls.REQUESTS`.
    blobs : Blobs
        Files that it names: beside it, so that the runner needs no access to a store, and no
        file is copied.
    reply_format : ReplyFormat
    ids : RequestIds
        What it names, where that was hashed in this process.
    """

    method: ServiceMethod
    request: bytes
    blobs: Blobs = field(default_factory=lambda: NO_BLOBS)
    reply_format: ReplyFormat = ReplyFormat.PROTOBUF
    ids: RequestIds = NO_IDS


class Runner(Protocol):
    """Runner of computations, as transports see it: serialised requests in, encoded replies out."""

    def answer(self, call: Call, host: RunnerHost) -> Reply:
        """Answer a request by the encoded response of its method.

        Raises
        ------
        ExplainError
            For every failure: a runner raises nothing else.
        """
