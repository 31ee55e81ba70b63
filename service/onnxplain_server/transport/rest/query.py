"""Parameters in the query of a REST request: none is unknown, and none is given twice."""

from __future__ import annotations

import re
from collections.abc import Mapping

from flask import request

from onnxplain_server.core.errors import ExplainError, Reason


def parameters(*known: str, repeated: str = "") -> Mapping[str, str]:
    """Return the parameters of the current request by name, without the repeated one.

    As in canonical JSON, `page_size` may be written `pageSize`, too.

    Raises
    ------
    ExplainError
        INVALID_REQUEST for other parameters, and for one that stands twice.
    """
    found: dict[str, str] = {}
    for name, value in request.args.items(multi=True):
        plain = re.sub(r"(?<=[a-z])[A-Z]", lambda capital: f"_{capital[0].lower()}", name)
        if name == repeated:
            continue
        if plain not in known:
            names = ", ".join((*known, *([repeated] if repeated else [])))
            told = f"known here: {names}" if names else "there is none here"
            raise invalid(f'unknown parameter "{name[:100]}"; {told}', name[:100])
        if plain in found:
            raise invalid(f"the parameter {plain} stands twice; send it once", plain)
        found[plain] = value
    return found


def refuse() -> None:
    """Refuse all parameters: INVALID_REQUEST."""
    parameters()


def invalid(message: str, field: str) -> ExplainError:
    """Return the error of a parameter."""
    return ExplainError(Reason.INVALID_REQUEST, message, field)
