"""Options of all methods as JSON: what `onnxplain options` and the tables of docs/ are made from.

Usage: python -m tools.contract.method_options DESCRIPTORS FILE
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import FileDescriptorSet
from google.protobuf.descriptor_pool import DescriptorPool

from tools.contract import comments, limits

_METHODS = "onnxplain.v1.MethodOptions"
_TYPES = {
    FieldDescriptor.TYPE_BOOL: ("boolean", "booleans"),
    FieldDescriptor.TYPE_DOUBLE: ("number", "numbers"),
    FieldDescriptor.TYPE_ENUM: ("name", "names"),
    FieldDescriptor.TYPE_INT32: ("integer", "integers"),
    FieldDescriptor.TYPE_MESSAGE: ("object", "objects"),
    FieldDescriptor.TYPE_STRING: ("text", "texts"),
}


class _Contract:
    """Descriptors, comments and limits of the contract."""

    def __init__(self, files: FileDescriptorSet) -> None:
        self._comments = comments.read(files)
        self._limits = limits.read(files)
        self._rows = limits.read_rows(files)
        pool = DescriptorPool()
        for file in files.file:
            pool.Add(file)
        self._methods: Any = pool.FindMessageTypeByName(_METHODS)

    def methods(self) -> dict[str, Any]:
        """Describe all methods by name."""
        return {
            method.name: {
                "message": method.message_type.name,
                "text": self._comments[method.message_type.full_name],
                "rows": str(self._rows[method.message_type.full_name]),
                "options": list(self._options(method.message_type, "")),
            }
            for method in self._methods.fields
        }

    def _options(self, message: Descriptor, scope: str) -> Iterator[dict[str, Any]]:
        """Describe the fields of a message, each followed by those of its own message."""
        for field in message.fields:
            name = f"{scope}{field.name}"
            yield {"name": name, **self._option(field)}
            if field.message_type is not None:
                entry = f"{name}[]." if field.is_repeated else f"{name}."
                yield from self._options(field.message_type, entry)

    def _option(self, field: FieldDescriptor) -> dict[str, Any]:
        known = self._limits.get(field.full_name)
        one, several = _TYPES[field.type]
        return {
            "type": f"list of {several}" if field.is_repeated else one,
            "limits": limits.bounds(known, is_repeated=field.is_repeated) if known else "",
            "default": limits.default(known) if known else "",
            "text": self._comments[field.full_name].removeprefix("Optional. "),
            "enum": field.enum_type.full_name.split(".", 2)[2] if field.enum_type else "",
            "values": self._values(field),
        }

    def _values(self, field: FieldDescriptor) -> dict[str, str]:
        """Give the values of an enumeration with their comments, but the unspecified one."""
        kind = field.enum_type
        if kind is None:
            return {}
        return {
            value.name: self._comments[f"{kind.full_name}.{value.name}"]
            for value in kind.values
            if value.number
        }


def main(descriptors: Path, file: Path) -> None:
    """Write the options."""
    methods = _Contract(FileDescriptorSet.FromString(descriptors.read_bytes())).methods()
    content = {"generated": "from proto/ by `make proto`", "methods": methods}
    text = json.dumps(content, indent=1, ensure_ascii=False)
    file.write_text(f"{text}\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
