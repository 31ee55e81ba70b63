"""Failures of Redis by kind: which pass by themselves, and which are settings to be mended."""

from __future__ import annotations

import socket
import ssl
from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum

import redis


@dataclass(frozen=True, slots=True)
class _Traits:
    """Properties of a kind of failure.

    Attributes
    ----------
    name : str
        The label of metrics.
    advice : str
        For the operator, in the log.
    is_temporary : bool
        Whether a later try may succeed though nobody changes a setting.
    is_up : bool
        Whether Redis can be used all the same, for reading and deleting.
    """

    name: str
    advice: str
    is_temporary: bool = False
    is_up: bool = False


class FailureKind(Enum):
    """Kind of a failure."""

    FULL = _Traits(
        "full", "it has no memory left: raise its maxmemory, or let it evict", True, is_up=True
    )
    TIMEOUT = _Traits("timeout", "it does not answer in time", is_temporary=True)
    UNREACHABLE = _Traits(
        "unreachable",
        "nothing answers there, or the connection was closed: it is down, has no connection left, "
        "or the port is another",
        is_temporary=True,
    )
    FAILOVER = _Traits(
        "failover", "it is loading, or changes its primary, which passes", is_temporary=True
    )
    READ_ONLY = _Traits(
        "read_only",
        "it is a read-only replica: a failover passes, otherwise give the address of the primary",
        is_temporary=True,
    )
    DAMAGED = _Traits("damaged", "its reply cannot be read", is_temporary=True)
    ADDRESS = _Traits("address", "the name of the host is not known")
    LOGIN = _Traits("login", "it refuses this user with this password")
    PERMISSION = _Traits(
        "permission",
        "its ACL denies this user a command or a key: keys onnxplain:* and "
        "+@read +@write +@connection +@scripting +time are needed",
    )
    DATABASE = _Traits("database", "it has no database of this number")
    CERTIFICATE = _Traits(
        "certificate",
        "its certificate is not trusted: name the file of a private authority by "
        "?ssl_ca_certs=FILE in the address, and the host as the certificate does",
    )
    TLS = _Traits(
        "tls", "one side speaks TLS, the other does not: with TLS the address begins with rediss://"
    )
    CLUSTER = _Traits(
        "cluster", "it is a node of a Redis Cluster, which is not supported: use a single primary"
    )
    DISK = _Traits("disk", "it takes no writes, because it cannot save to its disk")
    REFUSED = _Traits("refused", "it refuses a command")


@dataclass(frozen=True, slots=True)
class RedisFailure:
    """Failure of a command: its kind, and what Redis or the system said."""

    kind: FailureKind
    cause: str

    @property
    def text(self) -> str:
        """Advice and cause, for the log."""
        return f"{self.kind.value.advice} ({self.cause})"


_BY_WORDS = (
    # In scripts of Redis 6 the code stands within the message.
    ("OOM command not allowed", FailureKind.FULL),
    ("WRONGPASS", FailureKind.LOGIN),
    ("NOAUTH", FailureKind.LOGIN),
    ("unauthenticated", FailureKind.LOGIN),
    ("invalid username-password", FailureKind.LOGIN),
    ("invalid password", FailureKind.LOGIN),
    ("Authentication required", FailureKind.LOGIN),
    ("NOPERM", FailureKind.PERMISSION),
    ("no permissions", FailureKind.PERMISSION),
    ("can't run this command", FailureKind.PERMISSION),
    ("can't access", FailureKind.PERMISSION),
    ("DB index", FailureKind.DATABASE),
    ("SELECT is not allowed", FailureKind.DATABASE),
    ("read only replica", FailureKind.READ_ONLY),
    ("read only script", FailureKind.REFUSED),
    ("LOADING", FailureKind.FAILOVER),
    ("loading the dataset", FailureKind.FAILOVER),
    ("MASTERDOWN", FailureKind.FAILOVER),
    ("Link with MASTER is down", FailureKind.FAILOVER),
    ("CLUSTERDOWN", FailureKind.FAILOVER),
    ("cluster is down", FailureKind.FAILOVER),
    ("TRYAGAIN", FailureKind.FAILOVER),
    ("NOREPLICAS", FailureKind.FAILOVER),
    ("Not enough good replicas", FailureKind.FAILOVER),
    ("UNBLOCKED", FailureKind.FAILOVER),
    ("BUSY", FailureKind.TIMEOUT),
    ("max number of clients", FailureKind.UNREACHABLE),
    ("MISCONF", FailureKind.DISK),
    ("unable to persist", FailureKind.DISK),
)

_Table = tuple[tuple[type[BaseException] | tuple[type[BaseException], ...], FailureKind], ...]

_BY_TYPE: _Table = (
    (redis.exceptions.OutOfMemoryError, FailureKind.FULL),
    (redis.exceptions.ReadOnlyError, FailureKind.READ_ONLY),
    (redis.exceptions.NoPermissionError, FailureKind.PERMISSION),
    (redis.exceptions.AuthenticationWrongNumberOfArgsError, FailureKind.LOGIN),
    (redis.exceptions.BusyLoadingError, FailureKind.FAILOVER),
    (redis.exceptions.ClusterError, FailureKind.FAILOVER),
    (redis.exceptions.TryAgainError, FailureKind.FAILOVER),
    (redis.exceptions.AskError, FailureKind.CLUSTER),
    (redis.exceptions.ClusterCrossSlotError, FailureKind.CLUSTER),
    (redis.exceptions.AuthorizationError, FailureKind.PERMISSION),
    (ssl.SSLCertVerificationError, FailureKind.CERTIFICATE),
    ((ssl.SSLEOFError, ssl.SSLZeroReturnError), FailureKind.UNREACHABLE),
    (ssl.SSLError, FailureKind.TLS),
)

_BY_BASE_TYPE: _Table = (
    (redis.ResponseError, FailureKind.REFUSED),
    (redis.AuthenticationError, FailureKind.LOGIN),
    ((redis.TimeoutError, TimeoutError), FailureKind.TIMEOUT),
    ((redis.ConnectionError, OSError), FailureKind.UNREACHABLE),
)
"""Types of which an error is the first, where nothing in its chain says more."""

_UNKNOWN_NAMES = (socket.EAI_NONAME, getattr(socket, "EAI_NODATA", socket.EAI_NONAME))


def classify(error: BaseException) -> RedisFailure:
    """Find the kind of an error that a command raised."""
    chain = list(_chain(error))
    return RedisFailure(_kind(chain), _cause(chain))


def _kind(chain: list[BaseException]) -> FailureKind:
    for error in chain:
        found = _named_address(error) or _by_type(error, _BY_TYPE) or _by_words(error)
        if found is not None:
            return found
        # The client's own file of authorities, certificate or key.
        if isinstance(error, FileNotFoundError | PermissionError) and not _is_socket(chain[0]):
            return FailureKind.CERTIFICATE
    found = next(filter(None, (_by_type(error, _BY_BASE_TYPE) for error in chain)), None)
    return found or FailureKind.DAMAGED


def _named_address(error: BaseException) -> FailureKind | None:
    if not isinstance(error, socket.gaierror):
        return None
    is_unknown = error.errno in _UNKNOWN_NAMES
    return FailureKind.ADDRESS if is_unknown else FailureKind.UNREACHABLE


def _by_type(error: BaseException, table: _Table) -> FailureKind | None:
    return next((kind for types, kind in table if isinstance(error, types)), None)


def _by_words(error: BaseException) -> FailureKind | None:
    if not isinstance(error, redis.ResponseError | redis.ConnectionError):
        return None
    text = str(error)
    return next((kind for words, kind in _BY_WORDS if words in text), None)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and those that it came from."""
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__


def _cause(chain: list[BaseException]) -> str:
    """Return the words of the outermost error that has some, on one line."""
    told = next((str(each) for each in chain if str(each)), "")
    name = type(chain[0]).__name__
    return f"{name}: {' '.join(told.split())[:200]}" if told else name


def _is_socket(error: BaseException) -> bool:
    """Decide whether a file that is not found is the socket of a unix:// address."""
    return " connecting to /" in str(error)
