"""Warnings about columns that only their order gives to a model's inputs."""

from __future__ import annotations

from itertools import islice

from onnxplain_server.core.binding.column_order import ONLY_COUNT
from onnxplain_server.core.model import Note
from onnxplain_server.core.rows import Features
from onnxplain_server.core.table import listed
from onnxplain_server.core.warnings import InputWarning

_UNNAMED = "No names of the model tell which column is which, so they were taken in their order"
_COUNTED = ("", ONLY_COUNT)
"""Reasons that leave no doubt beside the order: the model takes as many columns as there are."""
_LISTED_COLUMNS = 12
"""Largest number of columns that a warning lists."""


def position_notes(features: Features) -> tuple[Note, ...]:
    """Warn that columns were bound by their order, as the model has no names for them."""
    if not features.by_position or len(features.names) == 1:
        return ()
    if features.spans:
        return (Note(InputWarning.COLUMNS_BY_POSITION, _mapping(features)),)
    columns = [f"{j} {name!r}" for j, name in enumerate(features.names, 1)]
    if len(columns) > _LISTED_COLUMNS:
        columns[_LISTED_COLUMNS - 1 : -1] = ["…"]
    message = (
        f"{features.order_reason or _UNNAMED}: {', '.join(columns)}. Name them in the model's "
        "order in feature_columns."
    )
    is_no_doubt = features.order_reason in _COUNTED
    return (Note(InputWarning.COLUMNS_BY_POSITION, message, is_no_doubt=is_no_doubt),)


def _mapping(features: Features) -> str:
    """Tell which columns each of several inputs takes."""
    names = iter(features.names)
    parts = [
        f"{input_name!r} takes {listed(tuple(islice(names, count)))}"
        for input_name, count in features.spans
    ]
    return (
        "Columns were given to the model's inputs by their names, and the others in table order: "
        f"{'; '.join(parts)}. Name the columns of each input in input_columns."
    )
