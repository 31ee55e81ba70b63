"""Columns of several inputs of which some are matrices: as named, or by names, widths and kinds.

An input of one column takes the column of its name. Of the columns that are left, texts are for
the inputs of text, and numbers for the others; where only one input of a kind is left, it takes
them in table order. Everything else has to be named, input by input.
"""

from __future__ import annotations

from collections.abc import Sequence

from onnxplain_server.core.binding.column_order import candidates, likely_target
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.model import Input
from onnxplain_server.core.table import Table, listed


def has_matrices(inputs: Sequence[Input]) -> bool:
    """Return whether there are several inputs, of which one takes several columns."""
    return len(inputs) > 1 and any(_width(each) > 1 for each in inputs)


def check_inputs_named(given: Sequence[tuple[str, tuple[str, ...]]]) -> None:
    """Raise INVALID_OPTION where an entry of `input_columns` names no input."""
    for i, (name, _) in enumerate(given):
        if not name:
            field = f"input_columns[{i}].input"
            raise ExplainError(Reason.INVALID_OPTION, f"{field} is required", field)


def in_input_order(
    inputs: Sequence[Input], given: Sequence[tuple[str, tuple[str, ...]]]
) -> tuple[str, ...]:
    """Return the columns of a request's `input_columns`, input by input in the model's order.

    Raises
    ------
    ExplainError
        INVALID_OPTION unless each input is named once, with as many columns as it takes.
    """
    columns = dict(given)
    names = tuple(each.name for each in inputs)
    if len(columns) < len(given) or set(columns) != set(names):
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"input_columns names {listed(tuple(name for name, _ in given))}; name each input of "
            f"the model once: {listed(names)}",
            "input_columns",
        )
    for each in inputs:
        count = len(columns[each.name])
        if each.width not in {None, count} or not count:
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"input_columns gives {count} columns to {each.name!r}, which takes "
                f"{each.width or 'at least 1'}",
                "input_columns",
            )
    return tuple(name for each in inputs for name in columns[each.name])


def columns_of_inputs(
    inputs: Sequence[Input], table: Table, requested: Sequence[str], non_features: Sequence[str]
) -> tuple[tuple[str, ...], bool]:
    """Choose the columns of all inputs, input by input.

    Parameters
    ----------
    inputs : sequence of Input
        See `has_matrices`.
    requested : sequence of str
        Columns that the request names, input by input; may be empty.
    non_features : sequence of str
        Target and weight columns of the table, empty where there is none.

    Returns
    -------
    names : tuple of str
    is_guessed : bool
        Whether only order or kind assigns some.

    Raises
    ------
    ExplainError
        INVALID_OPTION or MISSING_COLUMN where they do not fit.
    """
    total = sum(map(_width, inputs))
    if requested:
        if len(requested) != total or len(set(requested)) != total:
            fault = f"feature_columns names {len(requested)} columns"
            raise _refused(inputs, fault, is_missing=len(requested) < total)
        _check_places(inputs, requested)
        return tuple(requested), False
    rest = candidates(table.present, non_features, total)
    named = {each.name for each in inputs if _width(each) == 1 and each.name in rest}
    left = [name for name in rest if name not in named]
    _check_target_named(inputs, table, left, total - len(named), has_target=any(non_features[:1]))
    taken = _by_kind([each for each in inputs if each.name not in named], table, left, inputs)
    taken |= {name: (name,) for name in named}
    return tuple(name for each in inputs for name in taken[each.name]), True


def _check_places(inputs: Sequence[Input], requested: Sequence[str]) -> None:
    """Refuse the column that one input is named like in the place of another."""
    owners = [each for each in inputs for _ in range(_width(each))]
    alone = {each.name for each in inputs if _width(each) == 1}
    for owner, name in zip(owners, requested, strict=True):
        if name in alone and name != owner.name:
            raise _refused(inputs, f"feature_columns gives {name!r} to {owner.name!r}")


def _by_kind(
    open_inputs: Sequence[Input], table: Table, left: Sequence[str], inputs: Sequence[Input]
) -> dict[str, tuple[str, ...]]:
    """Give the columns that are left to the only input of their kind."""
    taken: dict[str, tuple[str, ...]] = {}
    texts = {name for name in left if name in table.columns and table.stored[name].dtype == object}
    for is_text in (True, False):
        columns = tuple(name for name in left if (name in texts) == is_text)
        takers = [each for each in open_inputs if (each.type == "string") == is_text]
        if len(columns) != sum(map(_width, takers)):
            kind = "columns of text" if is_text else "columns of numbers"
            fault = f"of those that no input is named like, the table has {len(columns)} {kind}"
            raise _refused(inputs, fault, is_missing=len(columns) < sum(map(_width, takers)))
        if len(takers) > 1:
            names = listed(tuple(each.name for each in takers))
            raise _refused(inputs, f"nothing tells which of {listed(columns)} are for {names}")
        taken |= {each.name: columns for each in takers}
    return taken


def _check_target_named(
    inputs: Sequence[Input], table: Table, left: Sequence[str], count: int, *, has_target: bool
) -> None:
    """Refuse a table with one column too many, likely its target."""
    if has_target or len(left) != count + 1:
        return
    takes_text = any(each.type == "string" for each in inputs)
    found = likely_target(table, left, takes_text=takes_text)
    raise ExplainError(
        Reason.INVALID_OPTION,
        f"the model takes {described(inputs)}, and the table has one column more: if {found!r} "
        "holds the true values, name it in target_column; otherwise name the columns of each "
        "input in input_columns",
        "target_column",
    )


def _refused(inputs: Sequence[Input], fault: str, *, is_missing: bool = False) -> ExplainError:
    return ExplainError(
        Reason.MISSING_COLUMN if is_missing else Reason.INVALID_OPTION,
        f"the model takes {described(inputs)}, but {fault}; name the columns of each input in "
        "input_columns",
        "input_columns",
    )


def described(inputs: Sequence[Input]) -> str:
    """List inputs with their numbers of columns: "'city' (1 column) and 'num' (3 columns)"."""
    parts = [f"{each.name!r} ({_width(each)} column{'s' * (_width(each) > 1)})" for each in inputs]
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def spans(inputs: Sequence[Input]) -> tuple[tuple[str, int], ...]:
    """Return name and number of columns of each input."""
    return tuple((each.name, _width(each)) for each in inputs)


def _width(each: Input) -> int:
    return each.width or 1
