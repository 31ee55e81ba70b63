"""Default numbers of rows that a method draws if the request has no `row_count`."""

QUADRATIC_ROWS = 500
"""For methods whose cost grows with the square of the rows, unless trees make it linear."""

SHUFFLED_ROWS = 10_000
"""For permutation importance: each row is predicted several times per feature."""

FOREST_ROWS = 10_000
"""For feature vectors: rows on which a forest is grown."""

SEARCHED_ROWS = 2_000
"""For swarm's searches: each row is predicted at every candidate weight."""

CONTRAST_ROWS = 500
"""For FIRM's contrasts, whose cost may grow with the square of the rows."""
