"""Registry of methods: the types of each one's options and result, by the contract's name."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, ClassVar, Protocol

from onnxplain_server.core.model import Note
from onnxplain_server.methods import (
    average_loss,
    feature_vectors,
    firm,
    individual_conditional_expectation,
    interactions,
    partial_dependence,
    permutation_importance,
    sequences,
    swarm,
)


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
    """Types of one method, and columns and rows that its options name.

    Attributes
    ----------
    name : str
        As in `MethodOptions` of the contract.
    options, result : type
    target_columns : callable (options) -> tuple of str
        Target columns of its own, beside that of the request.
    row_indices : callable (options) -> tuple of int
        Rows that are explained one by one, also those of weight 0.
    """

    name: str
    options: type[Options]
    result: type[Result]
    target_columns: Callable[[Any], tuple[str, ...]] = _none
    row_indices: Callable[[Any], tuple[int, ...]] = _none


SEQUENCES = Method("firm", sequences.Options, sequences.Result)
"""FIRM of sequences: a method of its own here, a field of `FirmOptions` in the contract."""

_METHODS = (
    Method("interactions", interactions.Options, interactions.Result),
    Method("partial_dependence", partial_dependence.Options, partial_dependence.Result),
    Method(
        "individual_conditional_expectation",
        individual_conditional_expectation.Options,
        individual_conditional_expectation.Result,
    ),
    Method(
        "permutation_importance",
        permutation_importance.Options,
        permutation_importance.Result,
        target_columns=lambda options: options.comparison.target_columns,
    ),
    Method(
        "average_loss",
        average_loss.Options,
        average_loss.Result,
        target_columns=lambda options: options.comparison.target_columns,
    ),
    Method(
        "feature_vectors",
        feature_vectors.Options,
        feature_vectors.Result,
        row_indices=lambda options: options.row_indices,
    ),
    Method("firm", firm.Options, firm.Result),
    Method(
        "swarm",
        swarm.Options,
        swarm.Result,
        target_columns=lambda options: options.target_columns,
        row_indices=lambda options: options.row_indices,
    ),
)

METHODS: Mapping[str, Method] = MappingProxyType({method.name: method for method in _METHODS})

_BY_TYPE = {
    kind: method for method in (*_METHODS, SEQUENCES) for kind in (method.options, method.result)
}


def method_of(value: Options | Result) -> Method:
    """Return the method that options or a result belong to."""
    return _BY_TYPE[type(value)]
