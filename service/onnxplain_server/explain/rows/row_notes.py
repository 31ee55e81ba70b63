"""Warnings that tell how many rows each method drew, and which resample none as clusters."""

from __future__ import annotations

from collections.abc import Sequence

from onnxplain_server.core.model import Note
from onnxplain_server.core.warnings import InputWarning
from onnxplain_server.plots.elements.labels import enumerate_words


def rows_drawn(counts: Sequence[tuple[str, int]], n_rows: int, seed: int) -> tuple[Note, ...]:
    """Tell how many rows each method drew that drew fewer than the table has.

    Parameters
    ----------
    counts : sequence of (str, int)
        Name of each method, and the number of rows that it drew.
    """
    names_by_count: dict[int, dict[str, None]] = {}
    for name, count in counts:
        if count < n_rows:
            names_by_count.setdefault(count, {})[name] = None
    if not names_by_count:
        return ()
    (smallest, names), *larger = sorted(names_by_count.items())
    parts = [f"{smallest:,} of {n_rows:,} rows were drawn for {enumerate_words([*names])}"]
    parts += [f"{count:,} for {enumerate_words([*others])}" for count, others in larger]
    message = (
        f"{', '.join(parts)} (seed {seed}); other draws give somewhat other numbers, and a higher "
        "row_count gives steadier ones."
    )
    return (Note(InputWarning.ROWS_DRAWN, message),)


def rows_not_clustered(cluster_column: str, names: Sequence[str]) -> tuple[Note, ...]:
    """Tell which methods, by their names, answer as without the column of clusters."""
    if not cluster_column or not names:
        return ()
    message = (
        f"The clusters of {cluster_column!r} change nothing for {enumerate_words([*names])}: no "
        "replicates of the rows are drawn there, and standard errors, where there are any, tell "
        "nothing of other clusters."
    )
    return (Note(InputWarning.ROWS_NOT_CLUSTERED, message),)
