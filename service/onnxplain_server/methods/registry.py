"""Registry of methods: the unions of their options and of their results."""

from __future__ import annotations

from typing import TypeAlias

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

Options: TypeAlias = (
    interactions.Options
    | partial_dependence.Options
    | individual_conditional_expectation.Options
    | permutation_importance.Options
    | average_loss.Options
    | feature_vectors.Options
    | firm.Options
    | sequences.Options
    | swarm.Options
)

Result: TypeAlias = (
    interactions.Result
    | partial_dependence.Result
    | individual_conditional_expectation.Result
    | permutation_importance.Result
    | average_loss.Result
    | feature_vectors.Result
    | firm.Result
    | sequences.Result
    | swarm.Result
)


def notes(result: Result) -> tuple[Note, ...]:
    """Return the notes of a result; empty for methods without notes."""
    with_notes = (
        interactions.Result
        | permutation_importance.Result
        | feature_vectors.Result
        | firm.Result
        | sequences.Result
        | swarm.Result
    )
    return result.notes if isinstance(result, with_notes) else ()
