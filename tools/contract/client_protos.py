"""Contract of the clients: the files of proto/, with limits in words instead of as options.

Usage: python -m tools.contract.client_protos DESCRIPTORS PROTO FOLDER

Messages are generated from these files, so that no client needs limits.proto (generated Python
imports the module of every file that is imported, even for options alone) and comments in every
language tell range and default. Google's files are copied as they are.
"""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path

from google.protobuf.descriptor_pb2 import (
    FieldDescriptorProto,
    FileDescriptorProto,
    FileDescriptorSet,
)

from tools.contract.limits import LIMITS, DefaultRows, Limits, read, read_rows, sentence

_MESSAGES, _FIELDS = 4, 2  # Numbers of descriptor.proto; no message is nested in another.
_WIDTH = 75
_ROWS_OPTION = re.compile(r"\n(message (\w+) \{)\n  option \(default_rows\) = \{[^}]*\};\n")
_OPTION = re.compile(r" \[\(limits\) = \{.*\}\];$", re.DOTALL)


def without_options(
    file: FileDescriptorProto, source: str, limits: dict[str, Limits], rows: dict[str, DefaultRows]
) -> str:
    """Return a file with options of fields and messages as the last lines of their comments."""
    lines = source.splitlines()
    for first, last, name, field in sorted(_declarations(file), reverse=True, key=lambda d: d[0]):
        if name in limits:
            declaration = _OPTION.sub(";", "\n".join(lines[first : last + 1]))
            indent = declaration[: -len(declaration.lstrip())]
            told = textwrap.wrap(sentence(limits[name], field), _WIDTH, break_on_hyphens=False)
            lines[first : last + 1] = [*(f"{indent}// {line}" for line in told), declaration]
    kept = "\n".join(line for line in lines if line != f'import "{LIMITS}";')
    content = _ROWS_OPTION.sub(
        lambda m: f"\n// Rows by default: {rows[f'{file.package}.{m[2]}']}.\n{m[1]}\n", kept
    )
    return re.sub(r"\n{3,}", "\n\n", content).replace("{\n\n", "{\n") + "\n"


def _declarations(
    file: FileDescriptorProto,
) -> Iterator[tuple[int, int, str, FieldDescriptorProto]]:
    """Give first and last line, full name and descriptor of all fields of the messages."""
    for location in file.source_code_info.location:
        path, span = location.path, location.span
        if len(path) == 4 and path[0] == _MESSAGES and path[2] == _FIELDS:
            message = file.message_type[path[1]]
            field = message.field[path[3]]
            name = f"{file.package}.{message.name}.{field.name}"
            yield span[0], span[0] if len(span) == 3 else span[2], name, field


def main(descriptors: Path, proto: Path, folder: Path) -> None:
    """Write the files."""
    files = FileDescriptorSet.FromString(descriptors.read_bytes())
    limits, rows = read(files), read_rows(files)
    for file in files.file:
        if file.package.startswith("onnxplain") and file.name != LIMITS:
            target = folder / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            source = (proto / file.name).read_text(encoding="utf-8")
            target.write_text(without_options(file, source, limits, rows), encoding="utf-8")
    shutil.copytree(proto / "google", folder / "google")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
