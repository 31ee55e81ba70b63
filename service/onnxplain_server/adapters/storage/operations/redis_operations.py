"""Operations in Redis, shared by all replicas: atomic scripts, fenced claims, signed bytes.

Redis Streams with consumer groups (XAUTOCLAIM) and the queue libraries rq, dramatiq, arq, saq and
taskiq hand out tasks in the order of a queue and at least once. None of them takes turns between
callers, knows a request id, or refuses the late result of a consumer that was replaced (fencing);
rq and arq pickle by default.
"""

from __future__ import annotations

import hashlib
import hmac
import logging
import math
import secrets
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

from onnxplain_server.adapters.storage.operations.page_token import PageTokens
from onnxplain_server.adapters.storage.operations.redis_attachments import RedisAttachments
from onnxplain_server.adapters.storage.operations.redis_operation_parts import (
    OperationParts,
    part_count,
)
from onnxplain_server.adapters.storage.operations.redis_operation_records import (
    OperationRecordFormat,
    RedisOperationRecord,
    pack_request,
    unpack_request,
)
from onnxplain_server.adapters.storage.operations.redis_operation_scripts import (
    OperationScripts,
    checked,
)
from onnxplain_server.adapters.storage.redis_connection import KEYS, RedisConnection
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.errors import ExplainError
from onnxplain_server.core.operation_store import (
    AT_ONCE,
    Claim,
    OperationStoreError,
    Release,
    Renewal,
)
from onnxplain_server.core.operations import (
    NewOperation,
    Operation,
    OperationCounts,
    OperationLimits,
    OperationState,
    check_same,
    no_room,
    too_many,
)

LOG = logging.getLogger(__name__)

_BATCH = 100  # operations that one command lists

_POLL_SECONDS = (0.05, 0.5)  # first and longest pause of a wait

_STATES = tuple(OperationState)  # in the order of counts.lua

_SUCCEEDED = OperationState.SUCCEEDED


class RedisOperations:
    """`OperationStore` in Redis; safe for threads and among replicas.

    Operations of replicas with another secret are not seen. Concurrent starts may exceed the limit
    of bytes by their size for a moment.

    Parameters
    ----------
    connection : RedisConnection
    secret : bytes
        Signs all that an answer depends on.
    limits : OperationLimits
    """

    def __init__(
        self, connection: RedisConnection, secret: bytes, limits: OperationLimits | None = None
    ) -> None:
        self.limits = limits or OperationLimits()
        namespace = hmac.new(secret, b"operations", hashlib.sha256).hexdigest()[:16]
        prefix = f"{KEYS}operations:{namespace}:"
        signer = Signer(secret)
        self._scripts = OperationScripts(connection, prefix, self.limits)
        self._parts = OperationParts(self._scripts, prefix, signer)
        self._page_tokens = PageTokens(signer)
        self._format = OperationRecordFormat(signer)
        self._attachments = RedisAttachments(self._scripts, self._parts)

    def start(self, owner: str, new: NewOperation) -> Operation:
        """Store a new operation; see `OperationStore.start`."""
        operation_id, packed = secrets.token_hex(16), pack_request(new)
        with self._parts.room_for(operation_id, "request", len(packed)):
            return self._start(operation_id, owner, new, packed)

    def _start(self, operation_id: str, owner: str, new: NewOperation, packed: bytes) -> Operation:
        # An earlier operation, or a refusal, costs no bytes.
        earlier = self._try_start(operation_id, owner, new, len(packed), is_trial=True)
        if earlier is not None:
            return check_same(self._attachments.with_plan(earlier), new.digest())
        self._parts.write(operation_id, "request", packed)
        # Parts are not dropped where Redis does not answer: it may have added the operation.
        try:
            started = self._try_start(operation_id, owner, new, len(packed), is_trial=False)
        except ExplainError:
            self._drop(operation_id, "request", len(packed))
            raise
        if started is None:
            raise OperationStoreError("Redis answered without the new operation")
        if started.operation.id != operation_id:
            self._drop(operation_id, "request", len(packed))
        return check_same(self._attachments.with_plan(started), new.digest())

    def get(self, owner: str, operation_id: str) -> Operation | None:
        """Return an operation."""
        record = self._record("get", owner, operation_id)
        return None if record is None else self._attachments.with_plan(record)

    def list(
        self,
        owner: str,
        matches: Callable[[Operation], bool] = lambda _operation: True,
        page_size: int = 100,
        page_token: str = "",
        query: str = "",
    ) -> tuple[Sequence[Operation], str]:
        """Return a page of operations; see `OperationStore.list`."""
        number = self._page_tokens.read(owner, query, page_token)
        before = "+inf" if number is None else str(number)
        page: list[RedisOperationRecord] = []
        while before:
            before, records = self._batch(owner, before)
            for record in records:
                if matches(record.operation):
                    if len(page) == page_size:
                        token = self._page_tokens.write(owner, query, page[-1].number)
                        return [each.operation for each in page], token
                    page.append(record)
        return [each.operation for each in page], ""

    def wait(self, owner: str, operation_id: str, seconds: float) -> Operation | None:
        """Wait for the operation to end; see `OperationStore.wait`."""
        end = time.monotonic() + seconds
        pause, longest = _POLL_SECONDS
        while True:
            record = self._record("get", owner, operation_id)
            remaining = end - time.monotonic()
            if record is None:
                return None
            if record.operation.state.is_terminal or remaining <= 0:
                return self._attachments.with_plan(record)
            time.sleep(min(pause, remaining))
            pause = min(2 * pause, longest)

    def cancel(self, owner: str, operation_id: str) -> Operation | None:
        """Cancel an operation; see `OperationStore.cancel`."""
        record = self._record("cancel", owner, operation_id)
        return None if record is None else record.operation

    def delete(self, owner: str, operation_id: str) -> bool:
        """Forget an operation."""
        return checked(self._scripts.run("delete", operation_id, owner), int) == 1

    def read_response(self, owner: str, operation_id: str, offset: int, size: int) -> bytes | None:
        """Return part of the response."""
        record = self._record("get", owner, operation_id)
        if record is None or record.operation.state is not _SUCCEEDED:
            return None
        whole = record.operation.response_byte_count
        response = self._parts.read(operation_id, _response(record.token), whole, offset, size)
        if response is None:
            LOG.warning("the response of operation %s is lost or damaged", operation_id)
        return response

    def read_parts(self, owner: str, operation_id: str) -> Sequence[bytes] | None:
        """Return the kept parts of an answer."""
        record = self._record("get", owner, operation_id)
        return None if record is None else self._attachments.parts(record)

    def claim(self, consumer: str) -> Claim | None:
        """Claim an operation; see `OperationStore.claim`."""
        match checked(self._scripts.run("claim"), list):
            case [bytes() as name, bytes() as token, reply]:
                operation_id = name.decode()
            case _:
                return None
        record = self._format.read(operation_id, reply)
        if record is None:
            LOG.warning("operation %s is damaged in Redis, and ends", operation_id)
            self._scripts.run("finish", operation_id, token, OperationState.FAILED.value, 0, 0, "")
            return None
        LOG.debug("operation %s is claimed by %s", operation_id, consumer)
        bare = Claim(record.operation, record.token, None)
        try:
            operation = self._attachments.with_plan(record)
            packed = self._parts.read(operation_id, "request", record.request_size)
        except OperationStoreError:
            with suppress(OperationStoreError):
                self.release(bare)
            raise
        request = None if packed is None else unpack_request(packed, operation)
        return Claim(operation, record.token, request)

    def renew(self, claim: Claim, done: float, planned: float) -> Renewal:
        """Report life and progress."""
        reply = self._scripts.run("renew", claim.operation.id, claim.token, done, planned)
        return Renewal(checked(reply, bytes).decode())

    def keep_plan(self, claim: Claim, plan: bytes) -> bool:
        """Keep a plan with the operation; see `OperationStore.keep_plan`."""
        return self._attachments.keep_plan(claim, plan)

    def keep_part(self, claim: Claim, index: int, part: bytes) -> bool:
        """Keep part of the answer; see `OperationStore.keep_part`."""
        return self._attachments.keep_part(claim, index, part)

    def finish(
        self, claim: Claim, state: OperationState, *, response: bytes = b"", error: bytes = b""
    ) -> bool:
        """End the operation; see `OperationStore.finish`."""
        operation_id, kind, size = claim.operation.id, _response(claim.token), len(response)
        with self._parts.room_for(operation_id, kind, size):
            self._parts.write(operation_id, kind, response)
            reply = self._finish(claim, state, response, error)
        if reply in {b"lost", b"full"}:
            self._drop(operation_id, kind, size)
        if reply == b"full":
            raise no_room(size, self.limits.byte_count)
        return reply == b"ok"

    def release(self, claim: Claim, how: Release = AT_ONCE) -> bool:
        """Put the operation back; see `OperationStore.release`."""
        flags = int(how.is_counted), int(how.is_crash)
        delay_ms = math.ceil(1000 * how.seconds)
        reply = self._scripts.run("release", claim.operation.id, claim.token, *flags, delay_ms)
        return checked(reply, bytes) == b"ok"

    def counts(self) -> OperationCounts:
        """Return the statistics."""
        counts, milliseconds, resumed, size = checked(self._scripts.run("counts"), list)
        return OperationCounts(
            dict(zip(_STATES, map(int, counts), strict=True)),
            int(milliseconds) / 1000,
            int(resumed),
            int(size),
        )

    def _finish(self, claim: Claim, state: OperationState, response: bytes, error: bytes) -> bytes:
        operation_id, size = claim.operation.id, len(response)
        signed = self._format.sign_error(operation_id, claim.token, error)
        arguments = state.value, part_count(size), size, signed
        return checked(self._scripts.run("finish", operation_id, claim.token, *arguments), bytes)

    def _try_start(
        self, operation_id: str, owner: str, new: NewOperation, size: int, *, is_trial: bool
    ) -> RedisOperationRecord | None:
        """Return the new or the earlier operation; None if a trial found no reason against it."""
        reply = self._scripts.run(
            "start",
            *(operation_id, owner, new.request_id, new.digest()),
            self._format.pack(operation_id, owner, new, size),
            *(part_count(size), new.byte_count, int(is_trial)),
        )
        match checked(reply, list):
            case [b"many"]:
                raise too_many(self.limits.kept_count)
            case [b"full"]:
                raise no_room(new.byte_count, self.limits.byte_count)
            case [_, bytes() as name, fields]:
                return self._format.read(name.decode(), fields)
            case _:
                return None

    def _record(self, script: str, owner: str, operation_id: str) -> RedisOperationRecord | None:
        return self._format.read(operation_id, self._scripts.run(script, operation_id, owner))

    def _batch(self, owner: str, before: str) -> tuple[str, Sequence[RedisOperationRecord]]:
        """Return some records before a number, and that of the last; empty after all of them."""
        match checked(self._scripts.run("list", owner, before, _BATCH), list):
            case [bytes() as number, [*found]]:
                records = (self._format.read(name.decode(), fields) for name, fields in found)
                return number.decode(), [each for each in records if each is not None]
            case _:
                raise OperationStoreError("Redis answered without a list")

    def _drop(self, operation_id: str, kind: str, size: int) -> None:
        # Otherwise they expire.
        with suppress(OperationStoreError):
            self._parts.delete(operation_id, kind, size)


def _response(token: int) -> str:
    """Return the kind of the parts of an attempt's response."""
    return f"response{token}"
