"""Default numbers of rows that a method draws if the request has no `row_count`.

The contract gives them to each method, by its option `(default_rows)`.
"""

from onnxplain_server.core.contract_limits import (
    FeatureVectorsOptions,
    InteractionsOptions,
    PermutationImportanceOptions,
    SwarmOptions,
)

QUADRATIC_ROWS = InteractionsOptions.default_rows
"""For methods whose cost grows with the square of the rows, unless trees make it linear."""

LINKED_PAIR_ROWS = 5_000
"""For pairs on trees behind a link function. Their cost grows with the square of the rows too, but
each row descends the trees once per pair, and not once per point."""

SHUFFLED_ROWS = PermutationImportanceOptions.default_rows
"""For permutation importance: each row is predicted several times per feature."""

FOREST_ROWS = FeatureVectorsOptions.default_rows
"""For feature vectors: rows on which a forest is grown."""

SEARCHED_ROWS = SwarmOptions.default_rows
"""For swarm's searches: each row is predicted at every candidate weight."""

CONTRAST_ROWS = 500
"""For FIRM's contrasts, whose cost may grow with the square of the rows."""
