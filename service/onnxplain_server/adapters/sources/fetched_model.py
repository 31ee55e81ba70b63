"""Models where they lie, with the files beside them that they name, put together as one piece."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, TypeAlias
from urllib.parse import quote

from onnxplain.errors import ExplainError as Fault
from onnxplain.external_data.inlining import ValueFile, find_files, in_one_piece
from onnxplain.v1.explanation_service_pb2 import Source

from onnxplain_server.adapters.sources.canonical_uri import canonical
from onnxplain_server.adapters.sources.mlflow_registry import RegisteredModel, Registry
from onnxplain_server.wire.requests import model_files

IsCached: TypeAlias = Callable[[str], bool]
"""Tells whether the model of a version (see `ModelCache`) need not be downloaded."""


class FoundModelFile(NamedTuple):
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


FindFile: TypeAlias = Callable[[str, int], FoundModelFile]
"""Finds a file of at most so many bytes by its name, a path beside the model."""


def read_model(
    name: str, byte_limit: int, find: FindFile, is_cached: IsCached, field: str
) -> tuple[bytes | None, list[Source]]:
    """Read a model in one or several files, of at most so many bytes; return what was read of each.

    `is_cached` is asked with the version of the ONNX file, and with those of all files where there
    are several: values may be replaced while the ONNX file stays the same. None in place of a model
    that is cached. `field` is that of the request, for errors.
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
        return _together(content, beside, byte_limit), sources
    except Fault as fault:
        model_files.refuse(fault, field)


def _together(content: bytes, beside: dict[str, FoundModelFile], byte_limit: int) -> bytes:
    """Read the files beside a model, each once, and put them into it."""
    files: dict[str, bytes] = {}

    def file(name: str) -> ValueFile:
        values = files[name] = files.get(name) or _read(beside[name])
        return ValueFile(len(values), lambda start, length: values[start : start + length])

    return in_one_piece(content, file, byte_limit)


def _beside(content: bytes, byte_limit: int, find: FindFile) -> dict[str, FoundModelFile]:
    """Find the files that a model names, without reading them."""
    found: dict[str, FoundModelFile] = {}

    def file(name: str) -> ValueFile:
        left = byte_limit - sum(each.byte_count for each in found.values())
        found[name] = find(name, left)
        return ValueFile(found[name].byte_count, lambda _start, _length: b"")

    find_files(content, file)
    return found


def _read(found: FoundModelFile) -> bytes:
    content = found.read()
    found.source.read_byte_count += len(content)
    return content


def find_artifact(
    registry: Registry,
    model: RegisteredModel,
    find_file: Callable[..., FoundModelFile],
    name: str,
    byte_limit: int,
) -> FoundModelFile:
    """Find a file of a model version: at the registry's proxy, or below a listed prefix."""
    path = registry.proxied(model, name)
    source = Source(uri=str(model.uri), version=model.version)
    if path is not None:
        source.resolved_uri = f"{model.location}/{name}"
        # The proxy tells no version; the size is known once it is read.
        content = registry.read_proxied(model, path, byte_limit)
        return FoundModelFile(source, len(content), "", lambda: content)
    location = model.location.rstrip("/")
    uri = canonical(f"{location}/{quote(name) if location.startswith('https') else name}")
    found = find_file(uri, byte_limit=byte_limit)
    source.resolved_uri = str(uri)
    return found._replace(source=source)
