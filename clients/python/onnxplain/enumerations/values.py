"""Values of enumerations by the names that people type: in any case, or as others call them."""

from __future__ import annotations

import difflib
import re
from typing import Any

from onnxplain.enumerations.names import FOREIGN_NAMES, OTHER_NAMES

_LONGEST_NAME = 100
_LEAST_SIMILARITY = 0.75
_SEPARATORS = re.compile(r"[\s_-]+")


def value_name(text: str, kind: Any) -> str | None:
    """Return the contract's name of a value; None where it has none of that name.

    Parameters
    ----------
    text : str
        The contract's name, or that of others, as of scikit-learn's scorers; case, blanks, hyphens
        and underscores do not count.
    kind : EnumDescriptor
    """
    return _known(kind).get(_plain(text))


def value_rule(text: str, kind: Any) -> str:
    """Return what a value must be, beside a text that it cannot be: "must be one of ..."."""
    known = _known(kind)
    names = [value.name for value in kind.values if value.number]
    start, plain = f"must be one of {', '.join(names)}", _plain(text)
    for foreign, advice in FOREIGN_NAMES.get(kind.full_name, ()):
        for name in foreign.split():
            if _plain(name) == plain:
                return f"{start}; {name} {advice}"
    choices = [name for name in known if known[name] in names]
    similar = difflib.get_close_matches(plain, choices, 1, _LEAST_SIMILARITY)
    return start + "".join(f" (did you mean {known[name]}?)" for name in similar)


def _known(kind: Any) -> dict[str, str]:
    others = OTHER_NAMES.get(kind.full_name, {})
    own = {_plain(value.name): value.name for value in kind.values}
    return {_plain(name): value for name, value in others.items()} | own


def _plain(text: str) -> str:
    return _SEPARATORS.sub("", text[:_LONGEST_NAME]).lower()
