"""Attachments of operations in Redis: the plan, and parts of the answer, which come on the way."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

from onnxplain_server.adapters.storage.operations.redis_operation_parts import (
    OperationParts,
    part_count,
)
from onnxplain_server.adapters.storage.operations.redis_operation_records import (
    RedisOperationRecord,
)
from onnxplain_server.adapters.storage.operations.redis_operation_scripts import (
    OperationScripts,
    checked,
)
from onnxplain_server.core.operation_store import (
    Claim,
    OperationStoreError,
    OperationStoreFullError,
)
from onnxplain_server.core.operations import Operation

_PLAN = "plan"


class RedisAttachments:
    """Reads and writes attachments, each under its name: "plan", or the index of a part.

    Parameters
    ----------
    scripts : OperationScripts
    parts : OperationParts
        Signs their bytes.
    """

    def __init__(self, scripts: OperationScripts, parts: OperationParts) -> None:
        self._scripts = scripts
        self._parts = parts

    def keep_plan(self, claim: Claim, plan: bytes) -> bool:
        """Keep a plan; see `OperationStore.keep_plan`."""
        return self._attach(claim, _PLAN, plan)

    def keep_part(self, claim: Claim, index: int, part: bytes) -> bool:
        """Keep part of the answer; see `OperationStore.keep_part`."""
        return self._attach(claim, str(index), part)

    def with_plan(self, record: RedisOperationRecord) -> Operation:
        """Return an operation with its plan; without one that is lost or damaged."""
        if _PLAN not in record.attached:
            return record.operation
        plan = self._parts.read(record.operation.id, *record.attached[_PLAN])
        return replace(record.operation, plan=plan or b"")

    def parts(self, record: RedisOperationRecord) -> Sequence[bytes]:
        """Return parts of the answer by index, without those that are lost or damaged."""
        places = {int(name): at for name, at in record.attached.items() if name.isdecimal()}
        found = [self._parts.read(record.operation.id, *places[index]) for index in sorted(places)]
        return [part for part in found if part is not None]

    def _attach(self, claim: Claim, name: str, content: bytes) -> bool:
        operation_id, size = claim.operation.id, len(content)
        # Each has keys of its own: those of the one before it are deleted once it is attached.
        kind = f"attached-{name}.{claim.token}.{secrets.token_hex(8)}"
        arguments = claim.token, name, kind, part_count(size), size
        try:
            self._parts.write(operation_id, kind, content)
            reply = checked(self._scripts.run("attach", operation_id, *arguments), bytes)
        except OperationStoreFullError:
            reply = b"full"
        if reply != b"ok":
            # Otherwise they expire.
            with suppress(OperationStoreError):
                self._parts.delete(operation_id, kind, size)
        return reply == b"ok"
