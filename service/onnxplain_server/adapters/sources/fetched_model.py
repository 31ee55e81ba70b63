"""Models where they lie, with the files beside them that they name, put together as one piece."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias

from onnxplain.errors import ExplainError as Fault
from onnxplain.external_data.inlining import ValueFile, in_one_piece
from onnxplain.v1.explanation_service_pb2 import Source

from onnxplain_server.wire import model_files

IsCached: TypeAlias = Callable[[str], bool]
"""Tells whether the model of a version (see `ModelCache`) need not be downloaded."""


class Found(NamedTuple):
    """File of a model as it was found.

    Attributes
    ----------
    source : Source
    byte_count : int
    version : str
        Tells each byte of the file, wherever it lies; empty where nothing does.
    read : callable () -> bytes
    """

    source: Source
    byte_count: int
    version: str
    read: Callable[[], bytes]


FindFile: TypeAlias = Callable[[str, int], Found]
"""Finds a file of at most so many bytes by its name, a path beside the model."""


def read_model(
    name: str, byte_limit: int, find: FindFile, is_cached: IsCached, field: str
) -> tuple[bytes | None, list[Source]]:
    """Read a model in one or several files, and return what was read of each.

    Parameters
    ----------
    name : str
        Of the ONNX file.
    byte_limit : int
        Of all files.
    find : callable
    is_cached : callable
        Is asked with the version of the model, and with those of all files where there are
        several: values may be replaced and the ONNX file stay the same.
    field : str
        Field of the request, for errors.

    Returns
    -------
    content : bytes or None
        The model in one piece; None where it is cached.
    sources : list of Source
    """
    model = find(name, byte_limit)
    if model.version and is_cached(model.version):
        return None, [model.source]
    content = _read(model)
    try:
        beside = _beside(content, byte_limit - model.byte_count, find)
        found = [model, *beside.values()]
        sources = [each.source for each in found]
        if not beside:
            return content, sources
        versions = [each.version for each in found]
        if is_cached(" ".join(versions) if all(versions) else ""):
            return None, sources
        files: dict[str, bytes] = {}

        def file(name: str) -> ValueFile:
            values = files[name] = files.get(name) or _read(beside[name])
            return ValueFile(len(values), lambda start, length: values[start : start + length])

        return in_one_piece(content, file, byte_limit), sources
    except Fault as fault:
        model_files.refuse(fault, field)


def _beside(content: bytes, byte_limit: int, find: FindFile) -> dict[str, Found]:
    """Find the files that a model names, without reading them."""
    found: dict[str, Found] = {}

    def file(name: str) -> ValueFile:
        if name not in found:
            left = byte_limit - sum(each.byte_count for each in found.values())
            found[name] = find(name, left)
        return ValueFile(found[name].byte_count, lambda _start, _length: b"")

    in_one_piece(content, file)
    return found


def _read(found: Found) -> bytes:
    content = found.read()
    found.source.read_byte_count += len(content)
    return content
