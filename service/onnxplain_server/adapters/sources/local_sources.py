"""`Sources` of the command line and of `onnxplain.local()`: read in this process, by its user.

The user reads what is theirs, so no prefix needs a list, and files of this machine are read too.
"""

from __future__ import annotations

import importlib.util
import io
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from onnxplain.v1.model_pb2 import Model
from onnxplain.v1.table_pb2 import Table

from onnxplain_server.adapters.sources.cache_lookup import CacheLookup
from onnxplain_server.adapters.sources.canonical_uri import (
    RESULT_FIELD,
    canonical_prefix,
    canonical_result,
)
from onnxplain_server.adapters.sources.local_endpoints import LocalEndpoints
from onnxplain_server.adapters.sources.local_files import LocalFiles
from onnxplain_server.adapters.sources.named_addresses import LIBRARIES, table_addresses
from onnxplain_server.adapters.sources.source_list import (
    ANY_NETWORK,
    SourceEntry,
    SourceList,
    checked_endpoint,
)
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.request import RequestFile
from onnxplain_server.core.sources import FetchControl, ModelCache, TableNeeds
from onnxplain_server.wire.requests.needed_columns import NeededColumns

if TYPE_CHECKING:
    from onnxplain_server.adapters.sources.fetching import Fetching

_DAY = 86_400.0


class LocalSources:
    """`Sources` of this process's user, with the credentials of their variables.

    Parameters
    ----------
    endpoints : LocalEndpoints
    """

    def __init__(self, endpoints: LocalEndpoints) -> None:
        self._endpoints = endpoints
        self._opened: Fetching | None = None

    def read_model(
        self, message: bytes, byte_limit: int, control: FetchControl, cache: ModelCache
    ) -> RequestFile:
        """Read a model; see `Sources.read_model`."""
        fetching, lookup = self._fetching(), CacheLookup(cache)
        model, seconds = Model.FromString(message), _seconds(control)
        content, receipt = fetching.read_model(model, byte_limit, seconds, lookup)
        return RequestFile("onnx", lookup.completed(content), receipt=receipt.SerializeToString())

    def read_table(
        self,
        message: bytes,
        needs: TableNeeds,
        byte_limit: int,
        control: FetchControl,
    ) -> RequestFile:
        """Read a table; see `Sources.read_table`."""
        table_addresses(message)
        sink = _Sink()
        receipt = self._fetching().read_table(
            *(Table.FromString(message), NeededColumns(needs), sink),
            byte_limit=byte_limit,
            seconds=_seconds(control),
        )
        return RequestFile("arrow", sink.content, receipt=receipt.SerializeToString())

    def check_writable(self, uri: str) -> None:
        """Check the form of an address, and the folder of a file: its store tells the rest."""
        target = canonical_result(uri, tells_files=True)
        if target.scheme == "file":
            LocalFiles(RESULT_FIELD).check_folder(target)

    def write(self, uri: str, content: bytes, control: FetchControl) -> None:
        """Write a result; see `Sources.write`."""
        self._fetching().write(uri, content, _seconds(control))

    def write_parts(self, uri: str, parts: Iterable[bytes], control: FetchControl) -> None:
        """Write a result as it comes; see `Sources.write_parts`."""
        self._fetching().write(uri, parts, _seconds(control))

    def _fetching(self) -> Fetching:
        if self._opened is None:
            missing = [name for name in LIBRARIES if importlib.util.find_spec(name) is None]
            if missing:
                raise ExplainError(
                    Reason.SOURCE_UNAVAILABLE,
                    f"addresses are read by {' and '.join(missing)}, not installed here: install "
                    "onnxplain-server[sources]",
                )
            from onnxplain_server.adapters.sources.connections.guard import Guard  # noqa: PLC0415
            from onnxplain_server.adapters.sources.fetching import Fetching  # noqa: PLC0415

            guard = Guard()
            guard.start()
            self._opened = Fetching(_source_list(self._endpoints), guard)
        return self._opened


class _Sink(io.RawIOBase):
    """File in memory, whose content is not copied at the end."""

    def __init__(self) -> None:
        self.content = bytearray()

    def writable(self) -> bool:
        """Return True."""
        return True

    def write(self, content: object) -> int:
        """Append a buffer."""
        view = memoryview(content)  # type: ignore[arg-type] # any buffer, as RawIOBase has it
        self.content += view
        return view.nbytes


def _source_list(endpoints: LocalEndpoints) -> SourceList:
    """Return a list of all that may be read: buckets by their endpoints, and the registry."""
    entries = []
    if endpoints.registry:
        try:
            endpoint = checked_endpoint(endpoints.registry)
        except ValueError as error:
            raise ExplainError(
                Reason.INVALID_REQUEST, f"the variable of the MLflow registry: {error}"
            ) from None
        entries.append(SourceEntry(canonical_prefix("models:/"), endpoint, networks=ANY_NETWORK))
    return SourceList(tuple(entries), is_local=True, defaults=_defaults(endpoints))


def _defaults(endpoints: LocalEndpoints) -> dict[str, tuple[str, str]]:
    return {
        "s3": (endpoints.s3, endpoints.region),
        "gs": (endpoints.google, endpoints.region),
    }


def _seconds(control: FetchControl) -> float:
    return max(0.1, min(control.deadline - time.monotonic(), _DAY))
