"""Default numbers of rows: how many each method draws where a request names no `row_count`."""

QUADRATIC_ROWS = 500
"""For methods whose cost grows with the square of the rows, unless trees make it linear."""

SHUFFLED_ROWS = 10_000
"""For permutation importance: each row is predicted several times per feature."""

FOREST_ROWS = 10_000
"""For feature vectors: rows on which a forest is grown."""

SEARCHED_ROWS = 2_000
"""For swarm's searches: each row is predicted at every weight that is tried."""

CONTRAST_ROWS = 500
"""For FIRM's contrasts, some of which cost the square of the rows."""
