"""Errors that a caller may see, by their causes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rig import hostiles
from rig.history import Call, Fault

_AFTER_SECONDS = 2.0
"""What a fault leaves behind: pauses of the way to Redis, connections that are made again."""

WAY = "(on the way)"
"""Stands for whatever a client says of a connection that broke."""

_CAUSED: dict[str, set[str]] = {
    "worker-kill": {"WORKER_DIED"},
    "worker-stop": {"WORKER_DIED", "DEADLINE_EXCEEDED"},
    "zygote-kill": {"WORKER_DIED", "UNAVAILABLE"},
    "replica-kill": {"UNAVAILABLE", "BLOB_NOT_FOUND", WAY},
    "replica-term": {"UNAVAILABLE", "BLOB_NOT_FOUND", WAY},
    # A limit on files also refuses the memory that a worker shares with its server.
    "disk-full": {"INSUFFICIENT_STORAGE", "UNAVAILABLE"},
    "no-descriptors": {"UNAVAILABLE", "WORKER_DIED", WAY},
    "client-delay": {"DEADLINE_EXCEEDED", WAY},
    "client-drop": {"DEADLINE_EXCEEDED", WAY},
    "client-throttle": {"DEADLINE_EXCEEDED", WAY},
    "client-half-close": {WAY},
    "client-reset": {WAY},
    "client-garble": {WAY},
}
"""By kind of fault. A fault of Redis may cause one error only: an uploaded file is gone."""

_FORGOTTEN = {"redis-kill", "redis-flush"}
"""Kinds of fault after which an operation is gone."""

UNSAFE = {"disk-full", "no-descriptors", "client-half-close"}
"""Kinds of fault that may outlast one retry: of what a whole replica lacks the retry there lacks
it too, and gRPC's clients go on with the first address that takes a connection, also where all of
them break a moment later."""

_PRIVATE = re.compile(
    r"/(home|tmp|usr|etc|root|proc|var|work)/|site-packages|Traceback|memfd|0x[0-9a-f]{6}"
    r'|File "|\.py\b'
)


def causes(kind: str) -> set[str]:
    """Name what a kind of fault may cause."""
    return _CAUSED.get(kind, {"BLOB_NOT_FOUND"} if kind.startswith("redis-") else set())


def during(call: Call, faults: Iterable[Fault]) -> list[Fault]:
    """Return the faults that a call may have met."""
    return [
        fault
        for fault in faults
        if fault.start <= call.end and call.start <= fault.end + _AFTER_SECONDS
    ]


def may_fail_so(call: Call, faults: Iterable[Fault]) -> bool:
    """Whether an error has a cause: the call's own terms, the model, or a fault at the time."""
    own = set[str]()
    if call.manner == "hurried":
        own = {"DEADLINE_EXCEEDED"}
    if call.manner == "hostile":
        own = hostiles.reasons(call.case)
    if call.manner == "operation" and is_forgotten(call, faults):
        own = {"OPERATION_NOT_FOUND"}
    if call.manner == "operation" and any(f.kind == "redis-fill" for f in during(call, faults)):
        own = own | {"QUOTA_EXCEEDED"}  # no room for the answer
    caused = own.union(*(causes(fault.kind) for fault in during(call, faults)))
    return call.reason in caused or (call.origin == "way" and WAY in caused)


def is_forgotten(call: Call, faults: Iterable[Fault]) -> bool:
    """Whether Redis lost what it had meanwhile: an operation is gone, or was started twice."""
    return any(fault.kind in _FORGOTTEN for fault in during(call, faults))


def is_safe(call: Call, faults: Iterable[Fault]) -> bool:
    """Whether one retry had to help: the call met no fault that may outlast it."""
    return not any(fault.kind in UNSAFE for fault in during(call, faults))


def is_private(text: str) -> bool:
    """Whether a message tells of the inside of the server: paths, places in code, addresses."""
    return bool(_PRIVATE.search(text)) or not text.isprintable()
