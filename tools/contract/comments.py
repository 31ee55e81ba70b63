"""Comments of the contract, by the full name of the element that they document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any

from google.protobuf.descriptor_pb2 import FileDescriptorProto, FileDescriptorSet

from tools.contract import limits
from tools.contract.enum_names import read_other_names, told

_Path = tuple[int, ...]


def read(files: FileDescriptorSet) -> dict[str, str]:
    """Return the comments, each paragraph on one line; those of enum values tell other names."""
    texts = dict(chain.from_iterable(map(_of_file, files.file)))
    for kind, values in read_other_names(files).items():
        for value, names in values.items():
            texts[f"{kind}.{value}"] += f" {told(names)}"
    return texts


def with_limits(files: FileDescriptorSet) -> dict[str, str]:
    """Return the comments, with limits of fields and default numbers of rows in words."""
    texts, bounds = read(files), limits.read(files)
    for name, rows in limits.read_rows(files).items():
        texts[name] = f"{texts[name]} Rows by default: {rows}."
    for name, field in limits.fields(files):
        if name in bounds:
            texts[name] = f"{texts[name]} {limits.sentence(bounds[name], field)}".rstrip()
    return texts


def _of_file(file: FileDescriptorProto) -> Iterator[tuple[str, str]]:
    comments = {
        tuple(place.path): place.leading_comments for place in file.source_code_info.location
    }
    for path, name in _in_file(file):
        if path in comments:
            yield name, _flowing(comments[path])


def _in_file(file: FileDescriptorProto) -> Iterator[tuple[_Path, str]]:
    """Give the path (numbers of descriptor.proto) and full name of all that can have a comment."""
    for index, message in enumerate(file.message_type):
        yield from _in_message(message, (4, index), file.package)
    yield from _named(file.enum_type, (5,), file.package, _in_enum)
    for index, service in enumerate(file.service):
        name = f"{file.package}.{service.name}"
        yield (6, index), name
        yield from _named(service.method, (6, index, 2), name)


def _in_message(message: Any, path: _Path, scope: str) -> Iterator[tuple[_Path, str]]:
    name = f"{scope}.{message.name}"
    yield path, name
    yield from _named(message.field, (*path, 2), name)
    yield from _named(message.oneof_decl, (*path, 8), name)
    yield from _named(message.enum_type, (*path, 4), name, _in_enum)
    for index, nested in enumerate(message.nested_type):
        yield from _in_message(nested, (*path, 3, index), name)


def _in_enum(kind: Any, path: _Path, name: str) -> Iterator[tuple[_Path, str]]:
    # Unlike the descriptors' own names, so that equal values of two enums stay apart.
    return _named(kind.value, (*path, 2), name)


def _named(
    items: Iterable[Any], path: _Path, scope: str, inside: Any = lambda *_: iter(())
) -> Iterator[tuple[_Path, str]]:
    for index, item in enumerate(items):
        name = f"{scope}.{item.name}"
        yield (*path, index), name
        yield from inside(item, (*path, index), name)


def _flowing(comment: str) -> str:
    paragraphs = re.split(r"\n\s*\n", comment.strip())
    return "\n\n".join(" ".join(line.split()) for line in paragraphs)
