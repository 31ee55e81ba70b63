"""Layout of a request in the arena: the message and the files that it names, or a body."""

from __future__ import annotations

import json

from onnxplain_server.adapters.workers.ipc.arena import Arena, ArenaReader
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import Body, ReplyFormat, RequestFile, ServiceMethod


def pack(arena: Arena, call: Call) -> bytes:
    """Write request and files; return the layout, the payload of the frame."""
    arena.put(call.request, *(blob.content for blob in call.blobs.values()))
    layout = [
        [name, blob.form, blob.field, len(blob.content), blob.receipt.hex()]
        for name, blob in call.blobs.items()
    ]
    return json.dumps(
        [call.method.value, call.reply_format.value, len(call.request), layout]
    ).encode()


def unpack(arena: Arena, payload: bytes) -> Call:
    """Read request and files; the parent, which wrote them, is trusted."""
    method, reply_format, length, layout = json.loads(payload)
    blobs, start = {}, length
    for name, form, field, size, receipt in layout:
        blobs[name] = RequestFile(form, arena.get(size, start), field, bytes.fromhex(receipt))
        start += size
    return Call(ServiceMethod(method), arena.get(length), blobs, ReplyFormat(reply_format))


def pack_body(arena: Arena, body: Body) -> bytes:
    """Write a body as it is read; return the payload of the frame."""
    size = arena.fill(body.parts())
    return json.dumps([body.method.value, body.media_type, size]).encode()


def unpack_body(arena: Arena, payload: bytes) -> tuple[ServiceMethod, str, ArenaReader]:
    """Read a body's method, media type and content."""
    method, media_type, size = json.loads(payload)
    return ServiceMethod(method), media_type, arena.reader(size)
