"""What a computation and its surroundings ask of each other."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from types import MappingProxyType
from typing import Protocol, TypeAlias


class ComputationHost(Protocol):
    """All that a computation may ask of its surroundings."""

    def advance(self, done: float, planned: float) -> None:
        """Tell the progress, in rows: `planned` is an upper bound that never rises.

        Raises
        ------
        ExplainError
            DEADLINE_EXCEEDED or CANCELLED where the answer is no longer wanted.
        """

    def single_flight(self, name: str) -> AbstractContextManager[bool]:
        """Do a piece of work, inside the context, while others that were asked for it wait.

        Inside, what was missing is to be recalled once more: who has waited
        finds what was remembered. Only work is saved by it, and nothing is
        promised: two may well be inside.

        Returns
        -------
        context manager of bool
            Whether it is the first one inside; not where another has done the
            work meanwhile, or cannot be waited for any longer.

        Raises
        ------
        ExplainError
            As `advance`, on entering.
        """

    def cache_get(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """Return cached numbers in one round trip; None for each that is not there."""

    def cache_put(self, entries: Mapping[str, bytes]) -> None:
        """Offer numbers to the cache; it may drop them."""


class RequestHost(ComputationHost, Protocol):
    """What a runner is given: a host, and for whom it works."""

    @property
    def model_key(self) -> str:
        """Caller and model: requests with the same ones may share a process."""

    @property
    def caller_key(self) -> Hashable:
        """As who its caller shares the processor with others."""


@dataclass(frozen=True, slots=True)
class CacheCounts:
    """What happened since the start.

    Attributes
    ----------
    hit_count, miss_count, error_count : int
        Numbers found, not found, and not readable; errors of storing count too.
    byte_count : int
        What this process holds now.
    coalesced_count : int
        Pieces of work that another asker has done meanwhile; see `Cache.single_flight`.
    """

    hit_count: int
    miss_count: int
    error_count: int
    byte_count: int
    coalesced_count: int = 0


class Cache(Protocol):
    """Numbers by name, shared by requests. Absent or failing, it costs time, never an answer."""

    def single_flight(
        self, name: str, keep_waiting: Callable[[], bool]
    ) -> AbstractContextManager[bool]:
        """See `ComputationHost.single_flight`.

        Parameters
        ----------
        name : str
        keep_waiting : callable () -> bool
            Asked several times per second while another is inside; what it
            raises ends the waiting.
        """

    def get_many(self, names: Sequence[str]) -> Sequence[bytes | None]:
        """Return the values in one round trip; None for each that is not there or not whole."""

    def put_many(self, entries: Mapping[str, bytes]) -> None:
        """Keep the values, or drop them."""

    def counts(self) -> CacheCounts:
        """Return what happened so far."""


@dataclass(frozen=True, slots=True, eq=False)
class Blob:
    """A file that was uploaded.

    Attributes
    ----------
    form : str
        What it is: "onnx", or the name of a table's format in the contract, like "csv".
    content : bytes
    """

    form: str
    content: bytes


Blobs: TypeAlias = Mapping[str, Blob]
"""The files that a request names, by their id."""

NO_BLOBS: Blobs = MappingProxyType({})


class BlobStore(Protocol):
    """Uploaded files by name, for some time. A file may go at any moment.

    A name begins with whose file it is, up to the first colon: where room is
    needed, files of whoever holds most go first.
    """

    @property
    def byte_limit(self) -> int:
        """The largest file that it keeps."""

    def get(self, name: str) -> Blob | None:
        """Return a file; None where it is not there, or not whole."""

    def put(self, name: str, blob: Blob) -> None:
        """Keep a file, even if others have to go; for the whole time anew if it is there."""


class Runner(Protocol):
    """All that a transport sees of a computation. Requests and replies are serialised messages.

    The files that a request names are looked up before, and handed over beside
    it: so what computes needs no way to them, and no copy of them is made.
    """

    def explain(self, request: bytes, blobs: Blobs, host: RequestHost) -> bytes:
        """Answer a serialised ExplainRequest by a serialised ExplainResponse.

        Raises
        ------
        ExplainError
            Whatever the reason: nothing else leaves a runner.
        """

    def describe(self, request: bytes, blobs: Blobs, host: RequestHost) -> bytes:
        """Answer a serialised DescribeModelRequest by a serialised DescribeModelResponse."""
