"""Requests and replies as bytes: what transports pass to runners without reading it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from enum import Enum
from typing import TypeAlias


class ServiceMethod(Enum):
    """Method of the service that computes, by its name in logs and metrics.

    A runner answers the first seven. ANSWER and PARTS decode answers that are kept; ROWS decodes
    rows that an explainer explains; MODEL puts a model in several files together.
    """

    EXPLAIN = "explain"
    PLAN = "plan"
    DESCRIBE = "describe"
    DESCRIBE_TABLE = "describe_table"
    PREDICT = "predict"
    CHECK = "check"
    COMPARE = "compare"
    ANSWER = "answer"
    PARTS = "parts"
    ROWS = "rows"
    MODEL = "model"


class ReplyFormat(Enum):
    """Format of a reply.

    Attributes
    ----------
    PROTOBUF
        The serialised message.
    EVENT
        The serialised message as the last event of a stream, ExplainStreamResponse.
    JSON
        Canonical JSON in UTF-8, on one line.
    JSON_EVENT
        The same as the last event of a stream.
    KEPT
        The serialised message, of which an operation keeps parts before.
    """

    PROTOBUF = "protobuf"
    EVENT = "event"
    JSON = "json"
    JSON_EVENT = "json_event"
    KEPT = "kept"

    @property
    def is_json(self) -> bool:
        """Return whether replies are JSON."""
        return self in {ReplyFormat.JSON, ReplyFormat.JSON_EVENT}

    @property
    def has_parts(self) -> bool:
        """Return whether parts of the answer may come before the reply."""
        return self in {ReplyFormat.EVENT, ReplyFormat.JSON_EVENT, ReplyFormat.KEPT}


@dataclass(frozen=True, slots=True, eq=False)
class Body:
    """Body of a request that a decoder reads.

    Attributes
    ----------
    method : ServiceMethod
    media_type : str
        "application/json", or "multipart/form-data; boundary=..." as the header has it.
    parts : callable () -> iterable of bytes
        Reads its bytes in order, each time from the start.
    """

    method: ServiceMethod
    media_type: str
    parts: Callable[[], Iterable[bytes]]


URI_FORMS = ("uri", "uris")
"""Forms of a model and of a table that lie elsewhere: their fields in the contract."""


REMOTE_FORM = "remote"
"""Form of a serialised RemoteModel, which transports name like a file: it has no bytes to load."""


FILES_FORM = "files"
"""Form of a serialised Model in several files, which a decoder puts together."""


BLOCKS_FORM = "blocks"
"""Form of a `core.sources.SourceBlocks`: files by URI that are read in blocks while it computes."""


CLUSTER_FORM = "cluster"
"""Form of a `core.sources.SourceBlocks` without files: a cluster predicts for the request."""


@dataclass(frozen=True, slots=True, eq=False)
class RequestFile:
    """Model or table of a request, or in a store of files.

    Attributes
    ----------
    form : str
        "onnx", or the name of a table's format in the contract, like "csv"; one of `URI_FORMS`
        where the file lies elsewhere; `FILES_FORM`; empty where a request names only `identity`.
    content : bytes or bytearray
        The file; the serialised Model or Table that names its URI, or has several files; empty
        where a request names only `identity`.
    field : str
        Path of the request's field that it came with, for errors; empty in a store.
    receipt : bytes
        Serialised Receipt with the sources of a file that was fetched; empty for others.
    identity : str or None
        Id of an uploaded file, or that uploading it would give; None where it was not hashed.
    """

    form: str = ""
    content: bytes | bytearray = b""
    field: str = ""
    receipt: bytes = b""
    identity: str | None = None

    @property
    def is_elsewhere(self) -> bool:
        """Return whether the file is to be fetched by its URI."""
        return self.form in URI_FORMS


@dataclass(frozen=True, slots=True)
class RequestIds:
    """Identity of a request's model and table, computed from their bytes in this process.

    Attributes
    ----------
    model, table : str
        As an upload would return it; empty where the request has none.
    table_form : str
        Format of the table.
    """

    model: str = ""
    table: str = ""
    table_form: str = ""


NO_IDS = RequestIds()


@dataclass(frozen=True, slots=True, eq=False)
class RequestParts:
    """Request split into its envelope, its model and its table, none of them parsed.

    Attributes
    ----------
    envelope : bytes
        Serialised message with the fields besides `model` and `table`.
    model, table : RequestFile or None
        None where the request has none, or an empty one, which stays in the envelope.
    takes_interactions : bool
        Whether its answer ends with the interactions that an explainer has kept.
    """

    envelope: bytes
    model: RequestFile | None = None
    table: RequestFile | None = None
    takes_interactions: bool = False


AnyRequest: TypeAlias = RequestParts | Body
"""Request as transports hand it over: split, or as a body that a decoder splits."""


@dataclass(frozen=True, slots=True)
class Work:
    """Work behind a reply, as metrics, quotas and the audit log count it; see `Receipt`.

    Attributes
    ----------
    methods : tuple of str
        Names of the explained methods, each once, in alphabetical order.
    row_count : int
    predicted_row_count : float
    cache_hit_count, cache_miss_count : int
    """

    methods: tuple[str, ...] = ()
    row_count: int = 0
    predicted_row_count: float = 0.0
    cache_hit_count: int = 0
    cache_miss_count: int = 0


NO_WORK = Work()


@dataclass(frozen=True, slots=True, eq=False)
class Reply:
    """Encoded reply, with the work behind it.

    Attributes
    ----------
    parts : tuple of bytes
        The reply, in the format that was asked for.
    work : Work
    """

    parts: tuple[bytes, ...]
    work: Work = NO_WORK

    @property
    def content(self) -> bytes:
        """All parts joined."""
        return b"".join(self.parts)

    @property
    def byte_count(self) -> int:
        """Size of the reply."""
        return sum(map(len, self.parts))
