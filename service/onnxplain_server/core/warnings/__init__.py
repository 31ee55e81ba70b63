"""Warnings of answers: one declaration each, which `docs/warnings.md` and reports are made from."""

from __future__ import annotations

from onnxplain_server.core.warnings.declaration import (
    ALL,
    Tells,
    WarningDeclaration,
    WarningSection,
)
from onnxplain_server.core.warnings.inputs import InputWarning
from onnxplain_server.core.warnings.methods import MethodWarning

__all__ = [
    "ALL",
    "WARNINGS",
    "AnswerWarning",
    "InputWarning",
    "MethodWarning",
    "Tells",
    "WarningDeclaration",
    "WarningSection",
]

AnswerWarning = InputWarning | MethodWarning

WARNINGS: dict[str, WarningDeclaration] = {
    warning.name: warning.value for kind in (InputWarning, MethodWarning) for warning in kind
}
"""Declarations by code."""
