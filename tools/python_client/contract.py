"""The contract as the generator reads it: descriptors, comments and limits, by full name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool

from tools.contract import comments
from tools.contract.limits import Limits, read

_PACKAGE = "onnxplain.v1"
_PRESENCE = re.compile(r"^(Optional|Required)(; required for ([^.]*))?\. ?")
_OPTIONS = re.compile(r"\b([A-Z]\w+)Options\b")
_TRUTH = re.compile(r"\bfalse\b|(?<=[Dd]efault )true\b|(?<=Default: )true\b")
_REQUEST = re.compile(r"`ExplainRequest\.(\w+)`")


class Contract:
    """Descriptors, comments and limits of the contract.

    Parameters
    ----------
    files : FileDescriptorSet
        With comments and imports.
    """

    def __init__(self, files: FileDescriptorSet) -> None:
        self._pool = DescriptorPool()
        for file in files.file:
            self._pool.Add(file)
        self._comments: Mapping[str, str] = comments.with_limits(files)
        self._limits: Mapping[str, Limits] = read(files)

    def message(self, name: str) -> Any:
        """Return the descriptor of a message."""
        return self._pool.FindMessageTypeByName(f"{_PACKAGE}.{name}")

    def limits(self, field: Any) -> Limits | None:
        """Return the limits of a field, if it has some."""
        return self._limits.get(field.full_name)

    def text(self, descriptor: Any) -> str:
        """Return the comment on a descriptor, as a docstring of the client says it."""
        comment = self._comments.get(_comment_name(descriptor), "")
        text = _PRESENCE.sub(lambda m: f"Required for {m[3]}. " if m[3] else "", comment)
        text = _TRUTH.sub(lambda word: word[0].capitalize(), text)
        return _OPTIONS.sub(lambda m: class_name(m[0]), _REQUEST.sub(r"`\1`", text))


def class_name(message: str) -> str:
    """Name the option class of a message."""
    return {"KnockoffOptions": "Knockoffs"}.get(message, message.removesuffix("Options"))


def module_name(descriptor: Any) -> str:
    """Name the module of what a file of the contract declares."""
    return PurePosixPath(descriptor.file.name).stem


def _comment_name(descriptor: Any) -> str:
    """Return the name in `comments`, where values stand below their enumeration."""
    kind: Any = getattr(descriptor, "type", None)
    if hasattr(kind, "values"):
        return f"{kind.full_name}.{descriptor.name}"
    return str(descriptor.full_name)
