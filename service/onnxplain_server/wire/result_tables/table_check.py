"""Tables as results: which requests have their rows written as Parquet, and which may."""

from __future__ import annotations

from onnxplain.v1.explanation_service_pb2 import ExplainRequest

from onnxplain_server.core.errors import ExplainError, Reason

_ENDING = ".parquet"
_METHODS = frozenset({"attributions"})
"""Methods whose results are rows of the table."""


def names_table(result_uri: str) -> bool:
    """Return whether an address is that of a table, in place of the whole answer, by its ending.

    In upper or lower case, as the files of tables are known by theirs.
    """
    return result_uri.lower().endswith(_ENDING)


def check_result_table(request: ExplainRequest) -> None:
    """Raise INVALID_OPTION for a table of rows that the request does not have, or has twice."""
    if not names_table(request.result_uri):
        return
    names = [str(method.WhichOneof("method")) for method in request.methods]
    if len(names) != 1 or not _METHODS.issuperset(names):
        allowed = " or ".join(sorted(_METHODS))
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"result_uri ends in {_ENDING}, so it takes the rows of one method, {allowed}; ask for "
            "that alone, or let the address end otherwise for the whole answer",
            "result_uri",
        )
