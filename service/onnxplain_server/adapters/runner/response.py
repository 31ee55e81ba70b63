"""Response of an explanation: results, receipt, and the comparison with a reference."""

from __future__ import annotations

from onnxplain.v1 import explanation_service_pb2 as service_pb2

from onnxplain_server.adapters.runner.receipt import add_read_bytes
from onnxplain_server.adapters.runner.request_parts import Asked
from onnxplain_server.explain import Answer
from onnxplain_server.trees.streaming.row_blocks import LargeTable
from onnxplain_server.wire import answer
from onnxplain_server.wire.comparisons.comparison import add_comparison
from onnxplain_server.wire.result_tables.table_check import names_table


def response_of(
    asked: Asked, result: Answer, start: float, table: LargeTable | None
) -> service_pb2.ExplainResponse:
    """Write the response to a request that was begun at `start`, in monotonic seconds.

    Parameters
    ----------
    table : LargeTable or None
        Whose bytes were read while it was computed.
    """
    message = asked.message
    response = answer.write(
        result,
        rows=not names_table(message.result_uri),
        replicates=message.replicates or message.HasField("reference"),
    )
    asked.write_provenance(response, start, has_predictions=result.has_predictions)
    add_comparison(response, message)
    if table is not None:
        add_read_bytes(response.receipt, table.blocks)
    return response
