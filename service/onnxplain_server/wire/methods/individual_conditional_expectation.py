"""Individual conditional expectation on the wire: curves with rows and groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from onnxplain_server.plots.elements.labels import quoted
from onnxplain_server.wire.message_fields import Values, WireExceptions
from onnxplain_server.wire.methods.partial_dependence import read_grids, write_grids
from onnxplain_server.wire.table import to_columns

if TYPE_CHECKING:
    from onnxplain_server.methods import individual_conditional_expectation as ice


def _result(result: ice.Result) -> Values:
    labels = [*zip(*result.groups, strict=True)]
    return {
        "curves": [
            {
                "feature": curves.features[0] if len(curves.features) == 1 else "",
                "features": curves.features,
                "grid": to_columns(curves.features, curves.grid),
                "row_indices": result.row_indices,
                "groups": [*map(_joined, labels)] or [""] * len(result.row_indices),
                "group_labels": [label for own in labels for label in own],
                "values": curves.values,
            }
            for curves in result.curves
        ]
    }


def _joined(labels: tuple[str, ...]) -> str:
    """Join the groups of a row by several columns; no two rows of other groups are alike."""
    sign = " / "
    return sign.join(quoted(label, sign) if len(labels) > 1 else label for label in labels)


EXCEPTIONS = WireExceptions(
    read={"IndividualConditionalExpectationOptions": read_grids},
    write={"IndividualConditionalExpectationOptions": write_grids},
    results={"IndividualConditionalExpectationResult": _result},
)
