"""Records of operations in Redis: what a caller chose is signed, states and times are not.

Whoever can write to Redis can end operations, but can make none, and change no answer.
"""

from __future__ import annotations

import json
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from onnxplain_server.adapters.storage.operations.redis_operation_scripts import checked
from onnxplain_server.adapters.storage.signing import Signer
from onnxplain_server.core.operations import NewOperation, Operation, OperationState
from onnxplain_server.core.request import RequestFile

_ATTACHED = re.compile(r"attached:(\S+)")
_PLACE = re.compile(rb"(\S+) [0-9]+ ([0-9]{1,15})")

_HEAD = struct.Struct("<I")

_MILLISECONDS = 1_000.0


@dataclass(frozen=True, slots=True)
class RedisOperationRecord:
    """Operation with what its bytes are found by.

    Attributes
    ----------
    operation : Operation
    number : int
        Grows with every operation.
    token : int
        Of the latest claim.
    request_size : int
        Bytes of the packed request; see `pack_request`.
    attached : mapping of str to (str, int)
        Kind and size of the bytes that came later, by name: "plan", or the index of a part of
        the answer.
    """

    operation: Operation
    number: int
    token: int
    request_size: int
    attached: Mapping[str, tuple[str, int]]


class OperationRecordFormat:
    """Reads and writes records.

    Parameters
    ----------
    signer : Signer
    """

    def __init__(self, signer: Signer) -> None:
        self._signer = signer

    def pack(self, operation_id: str, owner: str, new: NewOperation, request_size: int) -> bytes:
        """Return what never changes of an operation, signed."""
        chosen = {
            "owner": owner,
            "request_id": new.request_id,
            "request_digest": new.digest(),
            "labels": dict(new.labels),
            "method_names": list(new.method_names),
            "request_size": request_size,
        }
        return self._signer.sign(_name(operation_id, "record"), json.dumps(chosen).encode())

    def sign_error(self, operation_id: str, token: int, error: bytes) -> bytes:
        """Return the signed error of an attempt."""
        return self._signer.sign(_name(operation_id, f"error{token}"), error) if error else b""

    def read(self, operation_id: str, reply: object) -> RedisOperationRecord | None:
        """Read the reply of a script; None where the record is absent or damaged."""
        fields = _fields(reply)
        payload = self._signer.verify(_name(operation_id, "record"), fields.get("record", b""))
        if payload is None:
            return None
        chosen: dict[str, Any] = json.loads(payload)
        try:
            return self._record(operation_id, fields, chosen)
        except (KeyError, OverflowError, ValueError):
            return None

    def _record(
        self, operation_id: str, fields: Mapping[str, bytes], chosen: Mapping[str, Any]
    ) -> RedisOperationRecord:
        token = int(fields["token"])
        error = fields.get("error", b"")
        operation = Operation(
            id=operation_id,
            owner=chosen["owner"],
            state=OperationState(fields["state"].decode()),
            request_id=chosen["request_id"],
            request_digest=chosen["request_digest"],
            labels=chosen["labels"],
            method_names=tuple(chosen["method_names"]),
            create_time=int(fields["created"]) / _MILLISECONDS,
            expire_time=int(fields["expires"]) / _MILLISECONDS,
            start_time=_time(fields, "started"),
            end_time=_time(fields, "ended"),
            done=float(fields.get("done", 0)),
            planned=float(fields.get("planned", 0)),
            attempt_count=int(fields["attempts"]),
            crash_count=int(fields["crashes"]),
            is_cancel_requested="is_cancel_requested" in fields,
            error=self._signer.verify(_name(operation_id, f"error{token}"), error),
            part_count=int(fields.get("part_count", 0)),
            response_byte_count=int(fields.get("response_bytes", 0)),
        )
        number, size = int(fields["number"]), chosen["request_size"]
        return RedisOperationRecord(operation, number, token, size, _attached(fields))


def pack_request(new: NewOperation) -> bytes:
    """Return all that a consumer needs: length of a JSON head, head, request, files."""
    head = {
        "caller": [new.caller_name, new.caller_address],
        "ids": [new.model_id, new.table_id, new.table_form],
        "request_size": len(new.request),
        "blobs": [
            [name, blob.form, len(blob.content), blob.field, blob.receipt.hex()]
            for name, blob in new.blobs.items()
        ],
    }
    encoded = json.dumps(head).encode()
    contents = [blob.content for blob in new.blobs.values()]
    return b"".join([_HEAD.pack(len(encoded)), encoded, new.request, *contents])


def unpack_request(packed: bytes, operation: Operation) -> NewOperation:
    """Read the verified output of `pack_request`."""
    (head_size,) = _HEAD.unpack_from(packed)
    start = _HEAD.size + head_size
    head: dict[str, Any] = json.loads(packed[_HEAD.size : start])
    end = start + head["request_size"]
    request, blobs = packed[start:end], {}
    for name, form, size, field, receipt in head["blobs"]:
        blobs[name] = RequestFile(form, packed[end : end + size], field, bytes.fromhex(receipt))
        end += size
    caller_name, caller_address = head["caller"]
    model_id, table_id, table_form = head["ids"]
    return NewOperation(
        request,
        blobs,
        caller_name,
        caller_address,
        model_id,
        table_id,
        table_form,
        operation.request_id,
        operation.labels,
        operation.method_names,
    )


def _fields(reply: object) -> dict[str, bytes]:
    """Return the fields of a hash."""
    items = [checked(item, bytes) for item in checked(reply, list)]
    names = [name.decode(errors="replace") for name in items[::2]]
    return dict(zip(names, items[1::2], strict=False))


def _attached(fields: Mapping[str, bytes]) -> dict[str, tuple[str, int]]:
    found = {}
    for field, content in fields.items():
        name, place = _ATTACHED.fullmatch(field), _PLACE.fullmatch(content)
        if name and place:
            found[name[1]] = place[1].decode(errors="replace"), int(place[2])
    return found


def _time(fields: Mapping[str, bytes], name: str) -> float | None:
    return int(fields[name]) / _MILLISECONDS if name in fields else None


def _name(operation_id: str, kind: str) -> str:
    return f"operation\n{operation_id}\n{kind}"
