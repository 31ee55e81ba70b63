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

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from tools.contract import enum_names, limits
from tools.contract.limits import LIMITS, DefaultRows

_WIDTH = 75
_ROWS_OPTION = re.compile(r"\n(message (\w+) \{)\n  option \(default_rows\) = \{[^}]*\};\n")
_NAMES_OPTION = re.compile(r"\n *option \(foreign_names\) = \{[^}]*\};")
_OPTION = re.compile(r" \[\((limits|other_names)\) = .*\];$", re.DOTALL)


def without_options(
    file: FileDescriptorProto, source: str, told: dict[str, str], rows: dict[str, DefaultRows]
) -> str:
    """Return a file with options as the last lines of the comments on what they are of.

    Parameters
    ----------
    told : dict of str to str
        Options of fields and enum values in words, by full name.
    """
    lines = source.splitlines()
    for first, last, name in sorted(_declarations(file), reverse=True):
        if name in told:
            declaration = _OPTION.sub(";", "\n".join(lines[first : last + 1]))
            indent = declaration[: -len(declaration.lstrip())]
            words = textwrap.wrap(told[name], _WIDTH, break_on_hyphens=False)
            lines[first : last + 1] = [*(f"{indent}// {line}" for line in words), declaration]
    kept = "\n".join(line for line in lines if line != f'import "{LIMITS}";')
    content = _ROWS_OPTION.sub(
        lambda m: f"\n// Rows by default: {rows[f'{file.package}.{m[2]}']}.\n{m[1]}\n",
        _NAMES_OPTION.sub("", kept),
    )
    return re.sub(r"\n{3,}", "\n\n", content).replace("{\n\n", "{\n") + "\n"


def _declarations(file: FileDescriptorProto) -> Iterator[tuple[int, int, str]]:
    """Give first and last line, and full name, of all fields and enum values of the messages.

    Numbers are those of descriptor.proto; no message is nested in another.
    """
    for location in file.source_code_info.location:
        path, span = tuple(location.path), location.span
        last = span[0] if len(span) == 3 else span[2]
        match path:
            case (4, message, 2, field):
                owner = file.message_type[message]
                yield span[0], last, f"{file.package}.{owner.name}.{owner.field[field].name}"
            case (4, message, 4, enum, 2, value):
                owner = file.message_type[message]
                kind = owner.enum_type[enum]
                name = f"{file.package}.{owner.name}.{kind.name}.{kind.value[value].name}"
                yield span[0], last, name


def told(files: FileDescriptorSet) -> dict[str, str]:
    """Put the options of fields and enum values in words, by full name."""
    known, of_fields = limits.read(files), dict(limits.fields(files))
    sentences = {name: limits.sentence(known[name], of_fields[name]) for name in known}
    for kind, values in enum_names.read_other_names(files).items():
        sentences |= {f"{kind}.{value}": enum_names.told(of) for value, of in values.items()}
    return sentences


def main(descriptors: Path, proto: Path, folder: Path) -> None:
    """Write the files."""
    files = FileDescriptorSet.FromString(descriptors.read_bytes())
    words, rows = told(files), limits.read_rows(files)
    for file in files.file:
        if file.package.startswith("onnxplain") and file.name != LIMITS:
            target = folder / file.name
            target.parent.mkdir(parents=True, exist_ok=True)
            source = (proto / file.name).read_text(encoding="utf-8")
            target.write_text(without_options(file, source, words, rows), encoding="utf-8")
    shutil.copytree(proto / "google", folder / "google")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
