"""Words on how swarm moves values by a weight, for plots, tables and sentences."""

from __future__ import annotations

from typing import NamedTuple

from onnxplain_server.core.contract_limits import SwarmOptions

Perturbation = SwarmOptions.Perturbation


class MoveWords(NamedTuple):
    """Words on a perturbation; each but the last two has a place for the weight.

    Attributes
    ----------
    predictions : str
        After "accuracy .8": what the rows were predicted with, with a place for the limit, too.
    rows : str
        After "Rows".
    doing : str
        Before the name of a feature.
    weight : str
        What a weight is.
    axis : str
        Title of an axis of weights.
    """

    predictions: str
    rows: str
    doing: str
    weight: str
    axis: str


def words_of(perturbation: Perturbation) -> MoveWords:
    """Return the words on a perturbation."""
    match perturbation:
        case Perturbation.MULTIPLICATION:
            return MoveWords(
                "with values times {} ({})",
                "scaled by {}",
                "Scaling by {} the values of",
                "the factor of the values",
                "Weight: factor of the values",
            )
        case Perturbation.GAUSSIAN:
            return MoveWords(
                "with noise of {} standard deviations ({}) added",
                "with noise of {} standard deviations",
                "Adding noise of {} standard deviations to",
                "the standard deviations of noise",
                "Weight: noise in standard deviations",
            )
