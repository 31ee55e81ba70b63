"""Options of attributions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from onnxplain_server.core.contract_limits import AttributionsOptions
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import Table
from onnxplain_server.effects.attributing.games import Game, GameValue, Perturbation
from onnxplain_server.methods.option_checks import check_groups, check_limits, check_row_indices


@dataclass(frozen=True, slots=True)
class Options:
    """Options of attributions; see `AttributionsOptions` in the contract.

    Attributes
    ----------
    groups : tuple of tuples of str
        Features that count as one.
    row_indices : tuple of int
        Rows of the table to explain; empty: rows are given or drawn.
    explained_row_count : int
        Rows to draw, unless they are named or given.
    background_row_indices : tuple of int
        Rows of the table that make the background; empty: the rows drawn.
    explained_rows : Table or None
        Rows to explain by their values.
    target_standard_error : float
        In the unit of the output.
    kept_repeat_count : int
        Replicates of mean sizes that the result keeps; 0 for none.
    """

    groups: tuple[tuple[str, ...], ...] = ()
    row_indices: tuple[int, ...] = ()
    explained_row_count: int = AttributionsOptions.explained_row_count.default
    background_row_indices: tuple[int, ...] = ()
    perturbation: Perturbation = AttributionsOptions.perturbation.default
    value: GameValue = AttributionsOptions.value.default
    order: int = AttributionsOptions.order.default
    permutation_count: int = AttributionsOptions.permutation_count.default
    explained_rows: Table | None = None
    target_standard_error: float = AttributionsOptions.target_standard_error.default
    kept_repeat_count: int = 0

    @property
    def game(self) -> Game:
        """The game that values are of."""
        return Game(self.perturbation, self.value, self.order)

    @property
    def are_rows_drawn(self) -> bool:
        """Return whether the rows explained are drawn from the table."""
        return not self.row_indices and self.explained_rows is None

    @property
    def may_keep_replicates(self) -> bool:
        """Return whether results may keep replicates: mean sizes of rows that are chance."""
        return self.are_rows_drawn

    def players(self, names: Sequence[str]) -> tuple[tuple[int, ...], ...]:
        """Return the features of each player, in the order of their first ones."""
        grouped = {name for group in self.groups for name in group}
        single = [(name,) for name in names if name not in grouped]
        players = (tuple(sorted(map(names.index, each))) for each in (*self.groups, *single))
        return tuple(sorted(players))


def resolve(options: Options, names: Sequence[str], row_count: int, path: str) -> Options:
    """Reject invalid options.

    Parameters
    ----------
    names : sequence of str
        Features of the model.
    row_count : int
        Rows of the table as sent.
    """
    check_limits(AttributionsOptions, options, path)
    check_groups(options.groups, names, f"{path}.groups")
    limits = AttributionsOptions.row_indices
    check_row_indices(options.row_indices, row_count, limits, f"{path}.row_indices")
    limits = AttributionsOptions.background_row_indices
    where = f"{path}.background_row_indices"
    check_row_indices(options.background_row_indices, row_count, limits, where)
    if options.explained_rows is not None:
        _check_given(options.explained_rows.n_rows, f"{path}.explained_rows")
    return options


def _check_given(count: int, path: str) -> None:
    """Refuse more given rows than may be named, and none."""
    most = AttributionsOptions.row_indices.max_items or 0
    if not 0 < count <= most:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"explained_rows has {count:,} rows; it must have between 1 and {most:,}",
            path,
        )
