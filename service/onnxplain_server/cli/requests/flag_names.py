"""Flags of a command, by the fields of a request that they set: the names that errors tell."""

from __future__ import annotations

from collections.abc import Collection, Mapping

import typer

_FIELDS: Mapping[str, tuple[str, ...]] = {
    "rows": ("row_indices",),
    "target_column": ("target_column", "target_columns"),
    "against": ("expected_prediction_columns",),
}
"""Fields of flags that are called otherwise."""
_NOTHING: Collection[object] = (None, (), [])
"""Values of flags that were not given; of repeatable ones, an empty list."""


def flags_by_field(
    context: typer.Context, fields: Collection[str], *, only_given: bool = False
) -> dict[str, str]:
    """Return the flag of each field that has one; of several, the one that was given.

    Parameters
    ----------
    context : typer.Context
    fields : collection of str
        Of the request.
    only_given : bool
        Whether flags that were not given count as none.
    """
    flags: dict[str, str] = {}
    for param in context.command.params:
        name, flag = str(param.name), param.opts[0]
        is_given = context.params.get(name) not in _NOTHING
        if not flag.startswith("--") or (only_given and not is_given):
            continue
        for field in _FIELDS.get(name, (name,)):
            if field in fields and (is_given or field not in flags):
                flags[field] = flag
    return flags
