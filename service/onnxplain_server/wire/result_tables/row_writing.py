"""Rows of an answer at the address of a table, by the method that explains rows."""

from __future__ import annotations

from typing import Any

from onnxplain.v1.explanation_service_pb2 import ExplainResponse

from onnxplain_server.core.sources import TableHost
from onnxplain_server.explain import Answer
from onnxplain_server.methods.registry import method_of
from onnxplain_server.wire.result_tables.attribution_rows import attribution_rows
from onnxplain_server.wire.result_tables.table_check import names_table

_WRITERS = {"attributions": attribution_rows}


def write_rows(result_uri: str, host: TableHost, answer: Answer, response: ExplainResponse) -> None:
    """Have the rows of an answer written, if its request names a table.

    Parameters
    ----------
    result_uri : str
        Of the request.
    host : TableHost
    answer : Answer
        By one method: see `check_result_table`.
    response : ExplainResponse
        The same answer without its rows.
    """
    if not names_table(result_uri):
        return
    (explanation,) = answer.explanations
    result: Any = explanation.result
    host.write_table(_WRITERS[method_of(result).name](result, response))
