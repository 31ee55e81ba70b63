"""Resampling: bootstrap and jackknife standard errors and intervals, by reweighting rows.

Reading order: `units` (rows, or clusters of them), `replicates`, `spread`, `bands`,
`stability`, `kept`.
Arrays in, arrays out.

RowUnits are assumed to be independent. Where rows come in clusters (several of one patient,
neighbours in one street), the true spread is larger than resampling of single rows shows.
"""

from onnxplain_server.methods.resampling.bands import Band, Deviations
from onnxplain_server.methods.resampling.kept import (
    KEPT_REPEATS,
    ReplicatedStatistic,
    kept_repeats,
)
from onnxplain_server.methods.resampling.replicates import (
    MIN_ROWS,
    Replicates,
    Resampling,
    Scheme,
    bootstrap,
    bootstrap_counts,
    few_rows_notes,
    replicate,
)
from onnxplain_server.methods.resampling.spread import (
    ReplicateSpread,
    allow_for_chance,
    bootstrap_errors,
    chance_shares,
    mean_square_interval,
    spread,
    t_quantile,
)
from onnxplain_server.methods.resampling.stability import (
    Conclusion,
    Sizes,
    ranks,
    slope_weights,
    slopes,
    strongest,
)
from onnxplain_server.methods.resampling.units import (
    Clusters,
    RowUnits,
    effective_row_count,
    read_clusters,
)

__all__ = [
    "KEPT_REPEATS",
    "MIN_ROWS",
    "Band",
    "Clusters",
    "Conclusion",
    "Deviations",
    "ReplicateSpread",
    "ReplicatedStatistic",
    "Replicates",
    "Resampling",
    "RowUnits",
    "Scheme",
    "Sizes",
    "allow_for_chance",
    "bootstrap",
    "bootstrap_counts",
    "bootstrap_errors",
    "chance_shares",
    "effective_row_count",
    "few_rows_notes",
    "kept_repeats",
    "mean_square_interval",
    "ranks",
    "read_clusters",
    "replicate",
    "slope_weights",
    "slopes",
    "spread",
    "strongest",
    "t_quantile",
]
