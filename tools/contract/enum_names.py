"""Names of enum values other than the contract's: the options of limits.proto, by enumeration."""

from __future__ import annotations

from collections.abc import Iterator

from google.protobuf.descriptor_pb2 import EnumDescriptorProto, FileDescriptorSet

from tools.contract import limits


def read_other_names(files: FileDescriptorSet) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the names that others have for values, by full name of the enumeration and value."""
    option = limits.Option(files, "google.protobuf.EnumValueOptions", "onnxplain.v1.other_names")
    known = {
        name: {value.name: tuple((option.read(value) or "").split()) for value in kind.value}
        for name, kind in enumerations(files)
    }
    named = ((name, {v: names for v, names in of.items() if names}) for name, of in known.items())
    return {name: values for name, values in named if values}


def read_foreign_names(files: FileDescriptorSet) -> dict[str, list[tuple[str, str]]]:
    """Return names of no value, with blanks between, and advice, by full name of enumeration."""
    option = limits.Option(files, "google.protobuf.EnumOptions", "onnxplain.v1.foreign_names")
    return {
        name: [(group.names, group.advice) for group in groups]
        for name, kind in enumerations(files)
        if (groups := option.read(kind))
    }


def enumerations(files: FileDescriptorSet) -> Iterator[tuple[str, EnumDescriptorProto]]:
    """Give the enumerations of all messages by their full name, in the order of the files."""
    for name, message in limits.messages(files):
        yield from ((f"{name}.{kind.name}", kind) for kind in message.enum_type)


def told(names: tuple[str, ...]) -> str:
    """Return the sentence of a comment that tells other names of a value."""
    return f"Also called {', '.join(names)}."
