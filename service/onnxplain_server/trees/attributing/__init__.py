"""Attributions of rows by the trees: exact, from the patterns of conditions that rows meet.

Start at `attributions`. A leaf's part of a game depends on which of its players a row satisfies,
one bit each: `leaf_players` finds them, `pattern_tables` tabulates a leaf's values by pattern, and
`occurring_patterns` computes those of leaves with too many players for a table.
"""
