"""Decoder in this process: decodes bodies of REST without isolation."""

from __future__ import annotations

from onnxplain_server.core.interfaces import ComputationHost
from onnxplain_server.core.request import Body, RequestParts
from onnxplain_server.wire import rest_body


class LocalDecoder:
    """`Decoder` without isolation."""

    def decode(self, body: Body, host: ComputationHost) -> RequestParts:
        """Decode a body; see `Decoder.decode`."""
        content = b"".join(body.parts())
        host.advance(0, 0)
        return rest_body.decode(body.method, body.media_type, content)
