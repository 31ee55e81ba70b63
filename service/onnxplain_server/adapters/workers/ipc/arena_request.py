"""A request and the files that it names, laid into the arena one after the other."""

from __future__ import annotations

import json

from onnxplain_server.adapters.workers.ipc.arena import Arena
from onnxplain_server.core.interfaces import Blob, Blobs


def pack(arena: Arena, request: bytes, blobs: Blobs) -> bytes:
    """Lay them down; what the frame has to say, so that they can be taken out again."""
    arena.put(request, *(blob.content for blob in blobs.values()))
    named = [[name, blob.form, len(blob.content)] for name, blob in blobs.items()]
    return json.dumps([len(request), named]).encode()


def unpack(arena: Arena, label: bytes) -> tuple[bytes, Blobs]:
    """Take out what the parent has laid down, which is trusted."""
    length, named = json.loads(label)
    blobs, start = {}, length
    for name, form, size in named:
        blobs[name] = Blob(form, arena.get(size, start))
        start += size
    return arena.get(length), blobs
