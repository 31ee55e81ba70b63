"""Descriptions of remote models between processes, as JSON; what is read may be anyone's."""

from __future__ import annotations

import json
from typing import Any

from onnxplain_server.adapters.network_processes.socket_frames import BrokenError, Buffer, decoded
from onnxplain_server.adapters.remote_server.columns import INPUT_LIMIT, OUTPUT_LIMIT
from onnxplain_server.core.model import Input
from onnxplain_server.core.remote.models import RemoteDescription


def pack_description(description: RemoteDescription) -> bytes:
    """Encode a description."""
    inputs = [
        [each.name, each.type, each.width, each.columns, each.doubt] for each in description.inputs
    ]
    parts = [inputs, description.output_names, description.version, description.platform]
    return json.dumps(parts).encode()


def unpack_description(content: Buffer) -> RemoteDescription:
    """Decode a description; BrokenError."""
    match decoded(content):
        case [list(inputs), list(names), str(version), str(platform)] if len(inputs) <= INPUT_LIMIT:
            return RemoteDescription(
                tuple(map(_input, inputs)), _texts(names, OUTPUT_LIMIT), version, platform
            )
    raise BrokenError


def _input(given: Any) -> Input:
    match given:
        case [str(name), str(kind), None | int() as width, list(columns), str(doubt)]:
            is_width = width is None or (type(width) is int and 0 <= width < 2**31)
            if is_width:
                return Input(name, kind, width, _texts(columns, INPUT_LIMIT), doubt=doubt)
    raise BrokenError


def _texts(given: list[Any], limit: int) -> tuple[str, ...]:
    if len(given) > limit or not all(isinstance(text, str) for text in given):
        raise BrokenError
    return tuple(given)
