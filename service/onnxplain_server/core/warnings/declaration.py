"""Declaration of a warning of answers: its meaning, its remedy, and sentences that it silences."""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum


class WarningSection(Enum):
    """Section of `docs/warnings.md`, by its title."""

    MODEL = "Model"
    TABLE = "Table"
    EFFECTS = "Interactions, partial dependence, importance"
    ATTRIBUTIONS = "Attributions"
    FIRM = "FIRM"
    FEATURE_VECTORS = "Feature vectors"
    SWARM = "Swarm"
    EXPLAINERS = "Explainers"


class Tells(Enum):
    """Content of a warning's message; a report shows each in another place."""

    DOUBT = "what may be wrong with the answer"
    HOW_IT_WAS_MADE = "how the answer was made"
    SENTENCE = "what was found: a sentence of the summary"


ALL = ("*",)
"""Of `silences`: each method, so that a report has no summary."""


LOSSES = ("permutation_importance", "average_loss", "swarm")
"""Of `silences`: methods that compare predictions with a target."""


@dataclass(frozen=True, slots=True)
class WarningDeclaration:
    """Declaration of a warning.

    Attributes
    ----------
    section : WarningSection
    cause, remedy : str
        Cells of `docs/warnings.md`.
    tells : Tells
    silences : tuple of str
        Methods about which a report has no sentence, as their numbers cannot be relied on.
    """

    section: WarningSection
    cause: str
    remedy: str
    tells: Tells = Tells.DOUBT
    silences: tuple[str, ...] = ()
