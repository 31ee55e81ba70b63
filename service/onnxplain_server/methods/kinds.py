"""All methods: what any of them takes, and what any of them gives."""

from __future__ import annotations

from typing import TypeAlias

from onnxplain_server.methods import (
    average_loss,
    individual_conditional_expectation,
    interactions,
    partial_dependence,
    permutation_importance,
)

Options: TypeAlias = (
    interactions.Options
    | partial_dependence.Options
    | individual_conditional_expectation.Options
    | permutation_importance.Options
    | average_loss.Options
)

Result: TypeAlias = (
    interactions.Result
    | partial_dependence.Result
    | individual_conditional_expectation.Result
    | permutation_importance.Result
    | average_loss.Result
)
