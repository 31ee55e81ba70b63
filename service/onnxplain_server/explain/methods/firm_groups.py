"""Groups of features in FIRM: their names, and their values as columns of text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from onnxplain_server.core.arrays import Array, Indices
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import Table
from onnxplain_server.effects.background import combine, distinct
from onnxplain_server.language import ColumnValues, ValueKind, evaluate_stored, parse
from onnxplain_server.language.combinations import combination_texts
from onnxplain_server.methods.firm import Options
from onnxplain_server.methods.firm.options import MAX_COMBINATIONS
from onnxplain_server.methods.option_checks import check_groups


def with_ordered_groups(options: Options, kinds: Mapping[str, ValueKind], path: str) -> Options:
    """Put the columns of groups in table order before expressions, and check groups.

    Raises
    ------
    ExplainError
        INVALID_OPTION for a group of one, a feature in two, and a name that is another feature's.
    """
    named = [text for group in options.groups for text in group]
    expressions = tuple(dict.fromkeys(text for text in named if text not in kinds))
    groups = check_groups(options.groups, (*kinds, *expressions), f"{path}.groups")
    options = replace(options, groups=groups)
    others = {*kinds, *options.features, *(t for pairs in options.pairs for t in pairs.features)}
    if len(options.named_groups) < len(groups) or others & options.named_groups.keys():
        raise ExplainError(
            Reason.INVALID_OPTION,
            "the name of a group, its features joined by ' + ', is that of another feature or "
            "group; rename a column, or leave the other one out",
            f"{path}.groups",
        )
    return options


def group_columns(options: Options, table: Table, rows: Indices, path: str) -> dict[str, Array]:
    """Return the combinations of each group's values as a column of text: (n_rows of table,).

    Rows that are not among `rows` have "".

    Raises
    ------
    ExplainError
        INVALID_OPTION for a group of too many combinations, or for a feature that is no feature.
    """
    columns = ColumnValues(table.columns)
    drawn = columns.take(rows)
    texts = {}
    for i, (name, members) in enumerate(options.named_groups.items()):
        own = f"{path}.groups[{i}].names"
        parsed = [parse(table.check_readable(each, own), columns.kinds, own) for each in members]
        values = [evaluate_stored(expression, drawn) for expression in parsed]
        first, codes = combine(distinct(own)[1] for own in values)
        if len(first) > MAX_COMBINATIONS:
            raise ExplainError(
                Reason.INVALID_OPTION,
                f"the rows used have {len(first):,} combinations of values of {name}; the expected "
                f"score is known for at most {MAX_COMBINATIONS:,}. Name features of few values, or "
                "expressions of such, like 'age > 40'",
                own,
            )
        column = np.full(table.n_rows, "", dtype=object)
        column[rows] = combination_texts(members, [v[first] for v in values])[codes]
        texts[name] = column
    return texts
