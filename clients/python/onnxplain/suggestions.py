"""Suggestions for a name that was not found: a similar one, or the one of a usual short form."""

from __future__ import annotations

import difflib
from collections.abc import Collection

_SHORT_FORMS = {
    "ale": "accumulated_local_effects",
    "pdp": "partial_dependence",
    "pd": "partial_dependence",
    "ice": "individual_conditional_expectation",
    "pfi": "permutation_importance",
    "importance": "permutation_importance",
    "vip": "permutation_importance",
    "h2": "interactions",
    "h": "interactions",
    "hstats": "interactions",
    "loss": "average_loss",
}


def did_you_mean(name: str, names: Collection[str]) -> str:
    """Return " (did you mean ...?)" for a name of none, or nothing where no other is similar."""
    plain = name.lower().replace("-", "_").strip("_")
    short = _SHORT_FORMS.get(plain, plain)
    begun = [other for other in names if len(plain) > 1 and other.startswith(plain)]
    similar = [short] if short in names else begun[:1]
    similar = similar or difflib.get_close_matches(plain, list(names), 1)
    return "".join(f" (did you mean {other}?)" for other in similar)
