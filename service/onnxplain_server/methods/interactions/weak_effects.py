"""Warning about pairs and triples whose joint effect is partly the chance of the rows drawn."""

from __future__ import annotations

from collections.abc import Mapping

from onnxplain_server.core.model import Note
from onnxplain_server.core.warnings import MethodWarning

_MAX_LISTED = 5


def weak_effects_note(chance: Mapping[tuple[str, ...], float]) -> tuple[Note, ...]:
    """Warn of joint effects that are too weak to divide by.

    Parameters
    ----------
    chance : mapping of features to float
        Share of the joint effect's mean square that is chance, at most 1.
    """
    if not chance:
        return ()
    ranked = sorted(chance, key=lambda names: -chance[names])
    listed = ", ".join(
        f"{' × '.join(map(repr, names))} ({chance[names]:.0%})" for names in ranked[:_MAX_LISTED]
    )
    more = len(ranked) - _MAX_LISTED
    rest = f" and {more} more" if more > 0 else ""
    message = (
        f"Weak joint effects: {listed}{rest}. So much of the effect's mean square, by which the "
        "statistic divides, is chance of the rows drawn, so the ratio says little; its interval "
        "allows for that, and may be wide. Compare these by the square root of the numerator, "
        "or raise row_count."
    )
    return (Note(MethodWarning.WEAK_EFFECT, message),)
