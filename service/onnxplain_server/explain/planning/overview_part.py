"""Part of an overview: one of its methods, with its rows."""

from __future__ import annotations

from dataclasses import dataclass

from onnxplain_server.methods import partial_dependence, permutation_importance
from onnxplain_server.methods.registry import Options


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """A method of the overview.

    Attributes
    ----------
    options : Options
    row_count : int or None
        `row_count` of its request; None for the default of the method.
    is_reduced : bool
        Whether the budget made it smaller.
    """

    options: Options
    row_count: int | None
    is_reduced: bool

    def rows(self, row_count: int, default: int | None = None) -> int:
        """Return its rows of so many that count; `default` is that of its method, None: all."""
        own = default if self.row_count is None else self.row_count
        return row_count if own is None else min(own, row_count)

    def words(self, row_count: int) -> str:
        """Tell its rows, of so many that count, with its repetitions or curves."""
        text = f"{self.rows(row_count):,} rows"
        if isinstance(self.options, permutation_importance.Options):
            text += f" shuffled {self.options.repeat_count} times"
        if isinstance(self.options, partial_dependence.Options):
            count = sum(len(names) == 1 for names in self.options.features)
            is_stepped = self.options.strategy is partial_dependence.Strategy.STEPS
            points = "all steps" if is_stepped else f"{self.options.grid_size} points"
            text += f" for {count} curves of {points}"
        return text.replace("1 times", "once").replace("1 curves", "1 curve")
