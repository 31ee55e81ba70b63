"""Table for the server, which has no descriptors of options: limits, defaults, enumerations.

A class per message of the contract; enumerations are those of requests for explanations.

Usage: python -m tools.contract.server_table DESCRIPTORS FILE
"""

from __future__ import annotations

import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

from google.protobuf.descriptor_pb2 import FieldDescriptorProto, FileDescriptorSet

from tools.contract import limits
from tools.contract.limits import Limits, read, read_rows

_REQUEST, _METHODS = "onnxplain.v1.ExplainRequest", "onnxplain.v1.MethodOptions"
_COMPARISON = "onnxplain.v1.ComparisonOptions"
_ENUM, _MESSAGE = FieldDescriptorProto.TYPE_ENUM, FieldDescriptorProto.TYPE_MESSAGE

_HEAD = '''"""Generated from proto/ by `make proto`: limits, defaults, enumerations of requests."""

from __future__ import annotations

from enum import Enum

from onnxplain_server.core.limits import Limits
'''


def table(files: FileDescriptorSet) -> str:
    """Write the module."""
    fields = dict(limits.fields(files))
    messages: dict[str, list[str]] = defaultdict(list)
    needed: dict[str, set[str]] = defaultdict(set)
    for name, values in _enumerations(files):
        _, message, own = name.rsplit(".", 2)
        messages[message].append(_enumeration(message, own, values))
    for name, rows in read_rows(files).items():
        messages[name.rpartition(".")[2]].append(f"    default_rows = {_literal(rows.count)}\n")
    for name, found in read(files).items():
        _, message, field = name.rsplit(".", 2)
        default = _literal(found.default)
        if fields[name].type == _ENUM and found.default is not None:
            _, owner, kind = fields[name].type_name.rsplit(".", 2)
            default = f"{kind if owner == message else f'{owner}.{kind}'}.{found.default}"
            needed[message] |= {owner} - {message}
        if arguments := _arguments(found, default):
            messages[message].append(f"    {field} = Limits({arguments})\n")
    order = TopologicalSorter({name: sorted(needed[name]) for name in sorted(messages)})
    return _HEAD + "".join(_class(name, "".join(messages[name])) for name in order.static_order())


def _class(message: str, body: str) -> str:
    headline = f"Limits and enumerations of `{message}`."
    return f'\n\nclass {message}:\n    """{headline}"""\n\n{body.rstrip()}\n'


def _enumerations(files: FileDescriptorSet) -> Iterator[tuple[str, list[str]]]:
    """Yield the enumerations of requests for explanations, with the names of their values."""
    messages = dict(limits.messages(files))
    used, seen = {field.type_name for field in messages[_REQUEST].field}, set()
    pending = [_METHODS, _COMPARISON]
    while pending:
        name = pending.pop()
        if name in seen:
            continue
        seen.add(name)
        fields = messages[name].field
        used.update(field.type_name for field in fields if field.type == _ENUM)
        pending += [field.type_name[1:] for field in fields if field.type == _MESSAGE]
    for name, message in messages.items():
        for enum in message.enum_type:
            if f".{name}.{enum.name}" in used:
                yield f"{name}.{enum.name}", [value.name for value in enum.value[1:]]


def _enumeration(message: str, name: str, values: Iterable[str]) -> str:
    """Write an enumeration, without the value that stands for the default."""
    lines = "".join(f'        {value} = "{value}"\n' for value in values)
    return f'    class {name}(Enum):\n        """`{message}.{name}`."""\n\n{lines}\n'


def _arguments(limits: Limits, default: str) -> str:
    """Write the arguments of `Limits` in the server; empty where there is nothing to check."""
    low = limits.min if limits.exclusive_min is None else limits.exclusive_min
    high = limits.max if limits.exclusive_max is None else limits.exclusive_max
    known = {
        "min": low,
        "max": high,
        "exclusive_min": limits.exclusive_min is not None or None,
        "exclusive_max": limits.exclusive_max is not None or None,
        "zero_is_off": limits.zero_is_off or None,
        "min_items": limits.min_items,
        "max_items": limits.max_items,
    }
    written = [f"{name}={_literal(value)}" for name, value in known.items() if value is not None]
    if limits.default is None and not written:
        return ""
    return ", ".join([f"default={default}", *written])


def _literal(value: bool | float | str | None) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return f"{value:_}" if is_number else str(value)


def main(descriptors: Path, file: Path) -> None:
    """Write the table."""
    files = FileDescriptorSet.FromString(descriptors.read_bytes())
    file.write_text(table(files), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
