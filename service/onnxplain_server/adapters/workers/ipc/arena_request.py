"""Layout of a request in the arena: the message, then the uploaded files that it names."""

from __future__ import annotations

import json

from onnxplain_server.adapters.workers.ipc.arena import Arena
from onnxplain_server.core.interfaces import Blob, Blobs


def pack(arena: Arena, request: bytes, blobs: Blobs) -> bytes:
    """Write request and files; return the layout, the payload of the frame."""
    arena.put(request, *(blob.content for blob in blobs.values()))
    layout = [[name, blob.form, len(blob.content)] for name, blob in blobs.items()]
    return json.dumps([len(request), layout]).encode()


def unpack(arena: Arena, payload: bytes) -> tuple[bytes, Blobs]:
    """Read request and files; the parent, which wrote them, is trusted."""
    length, layout = json.loads(payload)
    blobs, start = {}, length
    for name, form, size in layout:
        blobs[name] = Blob(form, arena.get(size, start))
        start += size
    return arena.get(length), blobs
