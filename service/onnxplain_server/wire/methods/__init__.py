"""Methods on the wire: what differs from the fields of their options and results by name.

`message_fields` reads and writes all else.
"""

from __future__ import annotations

from onnxplain_server.wire.message_fields import ReadExceptions, WriteExceptions
from onnxplain_server.wire.methods import (
    accumulated_local_effects,
    attributions,
    feature_vectors,
    firm,
    individual_conditional_expectation,
    interactions,
    losses,
    partial_dependence,
    swarm,
)

_ALL = [
    each.EXCEPTIONS
    for each in (
        accumulated_local_effects,
        attributions,
        feature_vectors,
        firm,
        individual_conditional_expectation,
        interactions,
        losses,
        partial_dependence,
        swarm,
    )
]
READ: ReadExceptions = {name: read for each in _ALL for name, read in each.read.items()}
WRITE: WriteExceptions = {name: write for each in _ALL for name, write in each.write.items()}
RESULTS: WriteExceptions = {name: write for each in _ALL for name, write in each.results.items()}
WITHOUT_ROWS: WriteExceptions = {
    **RESULTS,
    **{name: write for each in _ALL for name, write in each.without_rows.items()},
}
"""Of results whose rows are written elsewhere."""
