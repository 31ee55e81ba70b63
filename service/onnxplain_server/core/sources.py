"""Protocol between transports and what fetches models and tables by their URIs."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from onnxplain_server.core.counts.cluster_counts import ClusterState
from onnxplain_server.core.request import RequestFile


class FetchControl(Protocol):
    """Deadline and cancellation of a request, as a fetch sees them."""

    @property
    def deadline(self) -> float:
        """Monotonic time; may be infinite."""

    def check(self, when: str) -> None:
        """Raise ExplainError if the request is cancelled or late; `when` ends the message."""


class InputShape(NamedTuple):
    """Input of a model: its element type as ONNX names it, and its columns; 0 where they vary."""

    name: str
    type: str
    width: int


@dataclass(frozen=True, slots=True)
class ModelColumns:
    """Columns that a model takes, as far as it tells.

    Attributes
    ----------
    names : tuple of str
        Features that it names; empty where it names none.
    inputs : tuple of InputShape
    """

    names: tuple[str, ...] = ()
    inputs: tuple[InputShape, ...] = ()


@dataclass(frozen=True, slots=True)
class TableNeeds:
    """Needs of a request for a table by URIs.

    Attributes
    ----------
    request : bytes
        Serialised ExplainRequest, whose model and table are not looked at.
    model : ModelColumns
    is_whole : bool
        Whether all columns are read, and the request is a DescribeTableRequest.
    """

    request: bytes = b""
    model: ModelColumns = ModelColumns()
    is_whole: bool = False

    def pack(self) -> str:
        """Encode it."""
        model = self.model
        return json.dumps([self.request.hex(), model.names, model.inputs, self.is_whole])

    @classmethod
    def unpack(cls, text: str) -> TableNeeds:
        """Decode the output of `pack`, which is trusted."""
        request, names, inputs, is_whole = json.loads(text)
        model = ModelColumns(tuple(names), tuple(InputShape(*each) for each in inputs))
        return cls(bytes.fromhex(request), model, is_whole)


@dataclass(frozen=True, slots=True)
class SourceBlocks:
    """Parquet files of a table by URI that is read in blocks, as they were found.

    Attributes
    ----------
    message : bytes
        Serialised Table.
    columns : tuple of str
        Columns to read, in the table's order.
    files : tuple of (str, int, str)
        URI, bytes and version of each file, in the order of the rows.
    """

    message: bytes
    columns: tuple[str, ...]
    files: tuple[tuple[str, int, str], ...]

    def pack(self) -> bytes:
        """Encode it."""
        return json.dumps([self.message.hex(), self.columns, self.files]).encode()

    @classmethod
    def unpack(cls, content: bytes | bytearray) -> SourceBlocks:
        """Decode the output of `pack`; ValueError for anything else."""
        try:
            message, columns, files = json.loads(content)
            return cls(
                bytes.fromhex(message),
                tuple(str(name) for name in columns),
                tuple((str(uri), int(size), str(version)) for uri, size, version in files),
            )
        except (TypeError, RecursionError) as error:
            raise ValueError(str(error)) from None


class FileRanges(Protocol):
    """Reader of ranges of the files of one `SourceBlocks`, for one thread."""

    def __call__(self, file: int, start: int, length: int) -> bytes:
        """Read a range of a file, by its number.

        Raises
        ------
        ValueError
            For a range that no file has.
        ExplainError
            Those of `Sources`; SOURCE_CHANGED where a file is another one by now.
        """


class TaskCluster(Protocol):
    """Cluster that computes on tables that are read in blocks, or predicts rows."""

    @property
    def prediction_seconds(self) -> float:
        """Planned time from which it predicts for a request; infinite where it never does."""

    def state(self) -> ClusterState:
        """Return what it did since the start, and its workers now."""

    def session(
        self, blocks: bytes | bytearray, model_key: str, control: FetchControl
    ) -> AbstractContextManager[socket.socket]:
        """Give a worker a socket for tasks on the table of packed `SourceBlocks`.

        Of a table without files, for rows to predict. Tasks share processes with those of the same
        key, of caller and model, only.
        """


class BlockSources(Protocol):
    """Files of tables that are read in blocks."""

    def reading(
        self, blocks: bytes | bytearray, control: FetchControl
    ) -> AbstractContextManager[FileRanges]:
        """Read ranges of the files of packed `SourceBlocks`, until the end of the context."""


class ModelCache(Protocol):
    """Cache of fetched models, by the version of the file: its address with its ETag.

    Any model may be missing at any time.
    """

    def get(self, version: str) -> bytes | bytearray | None:
        """Return the file of a version."""

    def put(self, version: str, content: bytes | bytearray) -> None:
        """Offer the file of a version to the cache, which may drop it."""

    def single_flight(self, uri: str, control: FetchControl) -> AbstractContextManager[object]:
        """Deduplicate fetches: inside, others that fetch the same address wait.

        They wait until the first one is done, and its file may be in the cache; if it fails, the
        next one fetches. `control` ends the waiting.
        """


class NoModelCache:
    """`ModelCache` that keeps nothing."""

    def single_flight(self, _uri: str, _control: FetchControl) -> AbstractContextManager[object]:
        """Let each fetch by itself."""
        return nullcontext()

    def get(self, _version: str) -> None:
        """Return None."""

    def put(self, _version: str, _content: bytes | bytearray) -> None:
        """Drop it."""


class TableHost(Protocol):
    """Host of an answer whose rows may go to an address."""

    def write_table(self, parts: Iterable[bytes]) -> None:
        """Write the table of an answer's rows to the request's address, once.

        Raises
        ------
        ExplainError
            Those of `Sources.write_parts`.
        ValueError
            Where the request asks for no table.
        """


class Sources(Protocol):
    """Models and tables where they lie, by their URIs.

    All methods raise ExplainError: INVALID_REQUEST, SOURCE_NOT_LISTED, SOURCE_NOT_FOUND,
    SOURCE_FORBIDDEN, SOURCE_CHANGED, SOURCE_UNAVAILABLE, and those of `FetchControl.check`.
    """

    def read_model(
        self, message: bytes, byte_limit: int, control: FetchControl, cache: ModelCache
    ) -> RequestFile:
        """Read the file of a serialised Model with a URI; also MODEL_TOO_LARGE.

        The store tells the file's version; one that the cache has is not downloaded.
        """

    def read_table(
        self,
        message: bytes,
        needs: TableNeeds,
        byte_limit: int,
        control: FetchControl,
    ) -> RequestFile:
        """Read what is needed of a serialised Table with URIs; also errors of tables.

        Parameters
        ----------
        message : bytes
        needs : TableNeeds
        byte_limit : int
            Largest size of what is read.
        control : FetchControl
        """

    def check_writable(self, uri: str) -> None:
        """Raise where a result may not be written to an address."""

    def write(self, uri: str, content: bytes, control: FetchControl) -> None:
        """Write a result."""

    def write_parts(self, uri: str, parts: Iterable[bytes], control: FetchControl) -> None:
        """Write a result as it comes; nothing is written where `parts` raise."""
