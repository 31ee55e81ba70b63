"""Comments of the contract as descriptions of REST, by the full name of their element."""

from __future__ import annotations

import re
from collections.abc import Mapping

from google.protobuf.descriptor_pb2 import FileDescriptorSet

from tools.contract import comments

_CODE = re.compile(r"`[^`]+`")
_SNAKE = re.compile(r"(?<=[a-z0-9])_([a-z0-9])")


def read(files: FileDescriptorSet) -> Mapping[str, str]:
    """Return the comments, those of fields with their limits, with names as JSON has them."""
    texts = comments.with_limits(files)
    return {name: _CODE.sub(lambda code: _camel(code[0]), text) for name, text in texts.items()}


def _camel(code: str) -> str:
    return _SNAKE.sub(lambda letter: letter[1].upper(), code)
