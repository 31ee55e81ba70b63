"""Attributions of rows by the trees: exact, from the patterns of conditions that rows meet.

Start at `attributions`. A leaf's part of a game depends on which of its players a row satisfies,
one bit each: `leaf_players` finds them, `pattern_tables` and `path_tables` tabulate a leaf's values
by pattern, `occurring_patterns` computes those of leaves with too many players for a table, and
`row_sums` adds them up for the rows.
"""
