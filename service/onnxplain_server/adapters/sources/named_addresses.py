"""Addresses that a table names, and the libraries by which they are read."""

from __future__ import annotations

from google.protobuf.message import DecodeError
from onnxplain.v1.table_pb2 import Table

from onnxplain_server.core.contract_limits import TableUris
from onnxplain_server.core.errors import ExplainError, Reason

LIBRARIES = ("obstore", "yaml")
"""What the extra `sources` brings."""


def table_addresses(message: bytes) -> list[tuple[str, str]]:
    """Return the addresses of a serialised Table with their fields.

    INVALID_REQUEST without any, or with too many.
    """
    try:
        uris = Table.FromString(message).uris.uris
    except DecodeError:
        uris = None
    if not uris:
        fault = "table.uris must name at least one address"
        raise ExplainError(Reason.INVALID_REQUEST, fault, "table.uris.uris")
    if len(uris) > TableUris.uris.max_items:
        fault = f"table.uris names {len(uris):,} addresses, of at most {TableUris.uris.max_items:,}"
        raise ExplainError(Reason.INVALID_REQUEST, f"{fault}: name their folder", "table.uris.uris")
    return [(uri, f"table.uris.uris[{index}]") for index, uri in enumerate(uris)]
