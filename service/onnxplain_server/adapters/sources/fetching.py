"""Fetches: a model or a table for its message, and results; runs in the fetching process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from io import RawIOBase
from pathlib import PurePosixPath
from typing import BinaryIO, TypeAlias, cast

from onnxplain.external_data.folder import find_in
from onnxplain.v1.explanation_service_pb2 import Receipt, Source
from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table
from onnxplain.v1.table_pb2 import TableFilter as FilterMessage
from onnxplain.v1.upload_pb2 import UploadTableRequest

from onnxplain_server.adapters.sources.canonical_uri import (
    RESULT_FIELD,
    CanonicalUri,
    canonical,
    canonical_result,
)
from onnxplain_server.adapters.sources.connections.guard import Guard
from onnxplain_server.adapters.sources.connections.web import WebServer
from onnxplain_server.adapters.sources.fetched_model import (
    FoundModelFile,
    IsCached,
    find_artifact,
    read_model,
)
from onnxplain_server.adapters.sources.interfaces import (
    FilterComparison,
    ObjectVersion,
    TableFilter,
    TableFormat,
    TableQuery,
)
from onnxplain_server.adapters.sources.local_files import LocalFiles
from onnxplain_server.adapters.sources.mlflow_registry import Registry
from onnxplain_server.adapters.sources.objects import Objects
from onnxplain_server.adapters.sources.source_files import FoundFile, SourceFiles
from onnxplain_server.adapters.sources.source_list import SourceEntry, SourceList
from onnxplain_server.adapters.sources.stores import guarded
from onnxplain_server.adapters.sources.table_reader import open_table
from onnxplain_server.adapters.sources.tables.block_choice import columns_in_blocks
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.sources import SourceBlocks
from onnxplain_server.core.systems.paths import local_path
from onnxplain_server.wire.requests.needed_columns import NeededColumns

ReadRange: TypeAlias = Callable[[int, int, int], bytes | memoryview]
"""Reads a range of a file: its number, start and length."""

_Store: TypeAlias = Objects | LocalFiles

_DESCRIPTION_BYTES = 2**20
_MODEL_FIELD = "model.uri"


class Fetching:
    """Fetches from the prefixes of a list.

    Parameters
    ----------
    sources : SourceList
    guard : Guard
    """

    def __init__(self, sources: SourceList, guard: Guard) -> None:
        self._sources = sources
        self._guard = guard

    def read_model(
        self, message: Model, byte_limit: int, seconds: float, is_cached: IsCached
    ) -> tuple[bytes | None, Receipt]:
        """Return a model in one piece, and a receipt with its sources, without the digest.

        None in place of a model that is cached.
        """
        uri = canonical(message.uri, _MODEL_FIELD, tells_files=self._sources.is_local)
        entry = self._sources.find(uri, _MODEL_FIELD)
        if uri.scheme == "models":
            return self._read_registered(uri, entry, byte_limit, seconds, is_cached)
        if uri.is_folder:
            fault = f'model.uri "{uri}" is a folder; name the ONNX file'
            raise ExplainError(Reason.INVALID_REQUEST, fault, _MODEL_FIELD)
        limit = min(byte_limit, entry.byte_limit or byte_limit)
        with ExitStack() as stack:
            find = partial(self._find_beside, uri, seconds, stack)
            name = uri.segments[-1] if uri.segments else ""
            content, sources = read_model(name, limit, find, is_cached, _MODEL_FIELD)
        return content, Receipt(sources=sources)

    def read_table(
        self,
        message: Table,
        needed: NeededColumns,
        sink: RawIOBase,
        *,
        byte_limit: int,
        seconds: float,
        memory_bytes: int = 0,
        in_blocks: Callable[[SourceBlocks], None] = lambda _blocks: None,
    ) -> Receipt:
        """Write the needed rows and columns of a table as an Arrow stream; return the sources.

        Where it would need more than `memory_bytes`, if that is not 0, and can be read in blocks,
        `in_blocks` is called in place of that.
        """
        with ExitStack() as stack:
            found = list(self._found_files(message, seconds, stack))
            files = SourceFiles(found)
            stack.callback(files.close)
            table = open_table(files, _query(message, byte_limit))
            columns = needed.of(table.column_names)
            names = columns_in_blocks(table, columns, memory_bytes)
            if names is not None:
                in_blocks(SourceBlocks(message.SerializeToString(), names, _versions(found)))
            else:
                # RawIOBase has the methods of BinaryIO that are used: write and close.
                table.read(columns, cast("BinaryIO", sink), needed.texts(table.column_names))
            sources = [
                _source(file.found, count)
                for file, count in zip(found, files.read_byte_counts, strict=True)
            ]
        return Receipt(sources=sources)

    @contextmanager
    def reading(self, blocks: SourceBlocks, seconds: float) -> Iterator[ReadRange]:
        """Read ranges of the files of a table, of the versions that were found before."""
        with ExitStack() as stack:
            message = Table.FromString(blocks.message)
            found = list(self._found_files(message, seconds, stack))
            if _versions(found) != blocks.files:
                raise ExplainError(
                    Reason.SOURCE_CHANGED,
                    "a file of the table changed while it was read; repeat the request",
                    "table.uris",
                )
            files = SourceFiles(found)
            stack.callback(files.close)
            yield lambda file, start, length: files.read(files.files[file], [(start, length)])[0]

    def write(self, uri: str, content: bytes | Iterable[bytes], seconds: float) -> None:
        """Write a result, whole or as it comes; nothing where its parts raise."""
        target = canonical_result(uri, tells_files=self._sources.is_local)
        entry = self._sources.find(target, RESULT_FIELD, for_writing=True)
        with self._store(entry, RESULT_FIELD, seconds) as store:
            store.write(target, content)

    def _found_files(self, message: Table, seconds: float, stack: ExitStack) -> Iterator[FoundFile]:
        """Find all files of a table; their stores stay open in `stack`."""
        for position, text in enumerate(message.uris.uris):
            field = f"table.uris.uris[{position}]"
            uri = canonical(text, field, tells_files=self._sources.is_local)
            if uri.scheme == "models":
                raise ExplainError(
                    Reason.INVALID_REQUEST, f'"{uri}" is the address of a model', field
                )
            entry = self._sources.find(uri, field)
            store = stack.enter_context(self._store(entry, field, seconds))
            versions = store.list(uri) if uri.is_folder else [store.find(uri)]
            if not versions:
                raise ExplainError(
                    Reason.SOURCE_NOT_FOUND, f'no file is below "{uri}"; check its name', field
                )
            depth = len(uri.segments) - (0 if uri.is_folder else 1)
            for found in versions:
                path = "/".join(found.uri.segments[depth:])
                yield FoundFile(found, path, partial(store.read_range, found))

    def _find_beside(
        self, uri: CanonicalUri, seconds: float, stack: ExitStack, name: str, byte_limit: int
    ) -> FoundModelFile:
        """Find a file by its path beside an address; its store stays open in `stack`."""
        folder = uri.segments[:-1]
        if uri.scheme == "file":
            find_in(local_path(folder), name)
        beside = CanonicalUri(uri.scheme, uri.authority, (*folder, *name.split("/")))
        return self._find_file(canonical(str(beside), _MODEL_FIELD), seconds, stack, byte_limit)

    def _find_file(
        self, uri: CanonicalUri, seconds: float, stack: ExitStack, byte_limit: int
    ) -> FoundModelFile:
        entry = self._sources.find(uri, _MODEL_FIELD)
        store = stack.enter_context(self._store(entry, _MODEL_FIELD, seconds))
        found = store.find(uri)
        if found.byte_count > byte_limit:
            raise _model_too_large(uri, found.byte_count, byte_limit)
        version = f"{entry.endpoint} {uri} {found.byte_count} {found.etag}" if found.etag else ""
        return FoundModelFile(
            _source(found, 0),
            found.byte_count,
            version,
            lambda: bytes(store.read_range(found, 0, found.byte_count)),
        )

    def _read_registered(
        self,
        uri: CanonicalUri,
        entry: SourceEntry,
        byte_limit: int,
        seconds: float,
        is_cached: IsCached,
    ) -> tuple[bytes | None, Receipt]:
        """Read a model of a registry: its description MLmodel, then its ONNX file."""
        limit = min(byte_limit, entry.byte_limit or byte_limit)
        with ExitStack() as stack:
            session = stack.enter_context(guarded(self._guard, entry))
            (upstream, *_) = session.upstreams.values()
            server = WebServer(self._guard, upstream, seconds, _MODEL_FIELD)
            registry = Registry(server, entry.base_path, _MODEL_FIELD)
            model = registry.find(uri)
            find_file = partial(self._find_file, seconds=seconds, stack=stack)
            find = partial(find_artifact, registry, model, find_file)
            description = find("MLmodel", _DESCRIPTION_BYTES).read()
            name = PurePosixPath(registry.model_file(model, description))
            content, sources = read_model(
                name.name,
                limit,
                lambda beside, left: find(str(name.parent / beside), left),
                is_cached,
                _MODEL_FIELD,
            )
        sources[0].read_byte_count += len(description)
        return content, Receipt(sources=sources)

    @contextmanager
    def _store(self, entry: SourceEntry, field: str, seconds: float) -> Iterator[_Store]:
        if entry.prefix.scheme == "file":
            yield LocalFiles(field)
            return
        with guarded(self._guard, entry) as session:
            yield Objects(entry, session, seconds, field)


def _versions(found: Sequence[FoundFile]) -> tuple[tuple[str, int, str], ...]:
    versions = [file.found for file in found]
    return tuple((str(each.uri), each.byte_count, each.version) for each in versions)


def _source(found: ObjectVersion, byte_count: int) -> Source:
    return Source(uri=str(found.uri), version=found.version, read_byte_count=byte_count)


def _model_too_large(uri: CanonicalUri, byte_count: int, limit: int) -> ExplainError:
    return ExplainError(
        Reason.MODEL_TOO_LARGE,
        f'"{uri}" has {byte_count:,} bytes; this server reads at most {limit:,} (setting '
        "max_model_bytes, or max_bytes of the prefix)",
        _MODEL_FIELD,
    )


_FORMATS = {
    UploadTableRequest.FORMAT_UNSPECIFIED: None,
    UploadTableRequest.ARROW: TableFormat.ARROW,
    UploadTableRequest.PARQUET: TableFormat.PARQUET,
    UploadTableRequest.CSV: TableFormat.CSV,
}

_SINGLE_VALUED = frozenset(
    {
        *(FilterComparison.LESS, FilterComparison.LESS_OR_EQUAL),
        *(FilterComparison.GREATER, FilterComparison.GREATER_OR_EQUAL),
    }
)


def _query(message: Table, byte_limit: int) -> TableQuery:
    uris = message.uris
    if uris.format not in _FORMATS:
        fault = f"the format {uris.format} is unknown"
        raise ExplainError(Reason.INVALID_REQUEST, fault, "table.uris.format")
    filters = tuple(_filter(index, given) for index, given in enumerate(uris.filters))
    return TableQuery(_FORMATS[uris.format], filters, byte_limit)


def _filter(index: int, given: FilterMessage) -> TableFilter:
    field = f"table.uris.filters[{index}]"
    try:
        name = FilterMessage.Comparison.Name(given.comparison)
        comparison = FilterComparison["EQUAL" if name == "COMPARISON_UNSPECIFIED" else name]
    except ValueError:
        fault = f"the comparison {given.comparison} is unknown"
        raise ExplainError(Reason.INVALID_REQUEST, fault, f"{field}.comparison") from None
    count = len(given.values)
    if not given.column or not count or (comparison in _SINGLE_VALUED and count > 1):
        rule = "must have a column, and one value; EQUAL and NOT_EQUAL one or several"
        raise ExplainError(Reason.INVALID_REQUEST, f"a filter {rule}", field)
    return TableFilter(given.column, comparison, tuple(given.values))
