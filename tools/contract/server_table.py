"""Table of limits for the server, which has no descriptors of options: a class per message.

Usage: python -m tools.contract.server_table DESCRIPTORS FILE
"""

from __future__ import annotations

import sys
from collections import defaultdict
from pathlib import Path

from google.protobuf.descriptor_pb2 import FileDescriptorSet

from tools.contract.limits import Limits, read, read_rows

_HEAD = '''"""Generated from proto/ by `make proto`: limits and defaults of request fields."""

from __future__ import annotations

from onnxplain_server.core.limits import Limits
'''


def table(files: FileDescriptorSet) -> str:
    """Write the module."""
    messages: dict[str, list[str]] = defaultdict(list)
    for name, rows in read_rows(files).items():
        messages[name.rpartition(".")[2]].append(f"    default_rows = {_literal(rows.count)}\n")
    for name, limits in read(files).items():
        _, message, field = name.rsplit(".", 2)
        if arguments := _arguments(limits):
            messages[message].append(f"    {field} = Limits({arguments})\n")
    classes = (
        f'\n\nclass {message}:\n    """Limits of `{message}`."""\n\n{"".join(lines)}'
        for message, lines in sorted(messages.items())
    )
    return _HEAD + "".join(classes)


def _arguments(limits: Limits) -> str:
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
    return ", ".join([f"default={_literal(limits.default)}", *written])


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
