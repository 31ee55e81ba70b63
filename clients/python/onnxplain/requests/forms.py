"""Convenient forms of options as the contract's messages: names, groups, grids, weights, labels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import Any, Protocol, TypeVar

import pyarrow as pa
from google.protobuf.message import Message

from onnxplain.columns import to_column
from onnxplain.suggestions import did_you_mean
from onnxplain.tables import arrow_of
from onnxplain.v1.explanation_service_pb2 import InputColumns, MethodOptions
from onnxplain.v1.firm_pb2 import FirmKmerWeights
from onnxplain.v1.partial_dependence_pb2 import FeatureGroup, Grid
from onnxplain.v1.table_pb2 import Columns

_MessageType = TypeVar("_MessageType", bound=Message)


class Method(Protocol):
    """One method with its options."""

    def to_message(self) -> MethodOptions:
        """Write the message of the contract."""


METHOD_NAMES = tuple(field.name for field in MethodOptions.DESCRIPTOR.fields)
"""Names by which a method is asked for with its default options."""


def to_method(method: Method | str) -> MethodOptions:
    """Write a method: options, or a name for its default options.

    Raises
    ------
    TypeError, ValueError
        Where it is neither.
    """
    if isinstance(method, str):
        if method not in METHOD_NAMES:
            raise ValueError(
                f"no method is called {method!r}{did_you_mean(method, METHOD_NAMES)}: choose from "
                f"{', '.join(METHOD_NAMES)}"
            )
        options = MethodOptions()
        getattr(options, method).SetInParent()
        return options
    if isinstance(method, type):
        raise TypeError(f"give {method.__name__}(), an instance, instead of the class")
    if not hasattr(method, "to_message"):
        raise TypeError(
            f"a method is a name, or options such as Interactions(), not {type(method).__name__}; "
            "give several one after the other"
        )
    return method.to_message()


def to_names(names: Sequence[Any], option: str) -> Sequence[Any]:
    """Return a list of names; refuse a string, which is a sequence of letters.

    Raises
    ------
    TypeError
    """
    if isinstance(names, str):
        raise TypeError(f"{option} must be a list; for one, [{names!r}]")
    return names


def to_input_columns(columns: Mapping[str, Sequence[str]] | None) -> list[InputColumns]:
    """Write the columns of each input of a model."""
    return [
        InputColumns(input=name, columns=to_names(names, f"input_columns[{name!r}]"))
        for name, names in (columns or {}).items()
    ]


def to_labels(labels: Sequence[str | float]) -> list[str]:
    """Write labels of classes as text.

    Raises
    ------
    TypeError
        Where they are a lone string.
    """
    if isinstance(labels, str):
        raise TypeError(f"class_labels must be a list of all labels, not {labels!r}")
    return [str(label) for label in labels]


def to_expressions(expressions: str | Sequence[str]) -> list[str]:
    """Write expressions, of which one may stand alone."""
    return [expressions] if isinstance(expressions, str) else list(expressions)


def to_output_names(names: str | Sequence[str]) -> list[str]:
    """Write names of outputs, of which one may stand alone.

    Raises
    ------
    TypeError
        Where one is a position.
    """
    listed = [names] if isinstance(names, str) else list(names)
    for name in listed:
        if not isinstance(name, str):
            raise TypeError(f"outputs are names, not {name!r}; give positions in output_indices")
    return listed


def to_groups(entries: Sequence[str | Sequence[str]], option: str) -> list[FeatureGroup]:
    """Write entries of one name, or of several that go together.

    Raises
    ------
    TypeError
        Where an entry is neither.
    """
    return [_group(entry, option) for entry in to_names(entries, option)]


def _group(entry: str | Sequence[str], option: str) -> FeatureGroup:
    try:
        return FeatureGroup(names=[entry] if isinstance(entry, str) else [*entry])
    except TypeError:
        rule = "each entry must be a name, or a list of names"
        raise TypeError(f"{option} has {entry!r}; {rule}") from None


def to_grids(grids: Sequence[Any], **features: Sequence[str | Sequence[str]]) -> list[Grid]:
    """Write explicit grids, one for each entry of the options in `features`, in their order.

    Raises
    ------
    TypeError, ValueError
        Where they do not fit the features, or hold neither numbers nor strings.
    """
    groups = [group for name, entries in features.items() for group in to_groups(entries, name)]
    if grids and len(grids) != len(groups):
        raise ValueError(
            f"grids has {len(grids)} entries for {len(groups)} entries of features: "
            "give one for each, None where the grid is to be laid"
        )
    return [_grid(grid, group.names) for grid, group in zip(grids, groups, strict=False)]


def to_columns(rows: Any, option: str) -> Columns | None:
    """Write rows of this process as columns; None where there are none.

    Raises
    ------
    TypeError, ValueError
        Where they are no frame, Arrow table or mapping, or hold neither numbers nor strings.
    """
    if rows is None:
        return None
    if hasattr(rows, "to_dict") and not hasattr(rows, "columns"):
        rows = rows.to_dict()  # a series is one row
    if isinstance(rows, Mapping):
        rows = {name: _several(values) for name, values in rows.items()}
    elif isinstance(rows, Sequence | PathLike):
        raise TypeError(f"{option} must be a frame, or a mapping of feature to a list of values")
    table = arrow_of(rows).unify_dictionaries()
    return Columns(columns=[to_column(name, _decoded(table[name])) for name in table.column_names])


def _several(values: Any) -> Any:
    """Return the values of several rows; a lone one is that of one row."""
    is_one = isinstance(values, str) or not hasattr(values, "__len__")
    return [values] if is_one else values


def _decoded(column: pa.ChunkedArray) -> pa.Array:
    """Return a column in one piece, categories as their values."""
    whole = column.combine_chunks()
    is_category = pa.types.is_dictionary(whole.type)
    return whole.dictionary_decode() if is_category else whole


def to_weights(
    weights: Mapping[tuple[str, int], float] | None, constant: float
) -> FirmKmerWeights | None:
    """Write weights by string and position; None where there are none."""
    if weights is None:
        return None
    return FirmKmerWeights(
        kmers=[kmer for kmer, _ in weights],
        positions=[position for _, position in weights],
        values=list(weights.values()),
        constant=constant,
    )


def unless_empty(message: _MessageType) -> _MessageType | None:
    """Return a message in which anything is set; None for another."""
    return message if message.ListFields() else None


def _grid(grid: Any, names: Sequence[str]) -> Grid:
    if grid is None:
        return Grid()
    columns = grid if isinstance(grid, Mapping) else dict.fromkeys(names[:1], grid)
    if set(columns) != set(names):
        raise ValueError(
            f"the grid for {', '.join(names)} must be a mapping with exactly these features"
        )
    return Grid(columns=[to_column(name, columns[name]) for name in names])
