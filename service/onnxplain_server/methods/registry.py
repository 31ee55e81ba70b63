"""Registry of methods by the contract's name; a method's modules are imported at its first use.

Each room that has a module per method finds it here: `methods`, `explain.methods` and `plots`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType
from typing import Any, ClassVar, Protocol, cast

from onnxplain_server.core.model import Note


class Options(Protocol):
    """Options of any method: a frozen dataclass."""

    __dataclass_fields__: ClassVar[dict[str, Any]]


class Result(Protocol):
    """Result of any method."""

    @property
    def notes(self) -> tuple[Note, ...]:
        """Warnings about this result."""


def _none(_options: Any) -> tuple[Any, ...]:
    return ()


@dataclass(frozen=True, slots=True)
class Method:
    """One method: its modules, and columns and rows that its options name.

    Attributes
    ----------
    name : str
        As in `MethodOptions` of the contract.
    module : str
        Name of its module in each room.
    target_columns : callable (options) -> tuple of str
        Target columns of its own, beside that of the request.
    row_indices : callable (options) -> tuple of int
        Rows that are explained one by one, also those of weight 0.
    part : str
        Field of the contract's options of `name` that makes them those of this method; empty
        where it has the contract's options for itself.
    """

    name: str
    module: str
    target_columns: Callable[[Any], tuple[str, ...]] = _none
    row_indices: Callable[[Any], tuple[int, ...]] = _none
    part: str = ""

    @property
    def options(self) -> type[Options]:
        """Type of its options."""
        return cast("type[Options]", self.module_in(_ROOM).Options)

    @property
    def result(self) -> type[Result]:
        """Type of its result."""
        return cast("type[Result]", self.module_in(_ROOM).Result)

    def module_in(self, room: str) -> Any:
        """Import its module in a room, a package by its full name."""
        return import_module(f"{room}.{self.module}")


_ROOM = __name__.rpartition(".")[0]

SEQUENCES = Method("firm", "sequences", part="sequences")
"""FIRM of sequences: a method of its own here, a field of `FirmOptions` in the contract."""

_METHODS = (
    Method("interactions", "interactions"),
    Method("partial_dependence", "partial_dependence"),
    Method(
        "individual_conditional_expectation",
        "individual_conditional_expectation",
        row_indices=lambda options: options.row_indices,
    ),
    Method(
        "permutation_importance",
        "permutation_importance",
        target_columns=lambda options: options.comparison.target_columns,
    ),
    Method(
        "average_loss",
        "average_loss",
        target_columns=lambda options: options.comparison.target_columns,
    ),
    Method("feature_vectors", "feature_vectors", row_indices=lambda options: options.row_indices),
    Method("firm", "firm"),
    Method(
        "swarm",
        "swarm",
        target_columns=lambda options: options.target_columns,
        row_indices=lambda options: options.row_indices,
    ),
    Method(
        "attributions",
        "attributions",
        row_indices=lambda options: (*options.row_indices, *options.background_row_indices),
    ),
    Method("accumulated_local_effects", "accumulated_local_effects"),
)

METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in _METHODS})

PARTS = (SEQUENCES,)
"""Methods that are a field of the contract's options of another one."""

_BY_MODULE = {method.module: method for method in (*_METHODS, *PARTS)}


def method_of(value: Options | Result) -> Method:
    """Return the method that options or a result belong to: the one whose module defines them."""
    return _BY_MODULE[type(value).__module__.removeprefix(f"{_ROOM}.").partition(".")[0]]
