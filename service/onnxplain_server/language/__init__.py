"""Expression language: safe Python-like expressions over columns of a table and outputs of a model.

Read `source`, `grammar`, `parse` (text to tree), `tree`, `evaluate` (tree to values) and `forms`.
Text is never executed: whatever is not allow-listed here is rejected with its position.
"""

from onnxplain_server.language.columns import ColumnValues
from onnxplain_server.language.evaluate import evaluate, evaluate_stored, evaluate_unchecked
from onnxplain_server.language.forms import (
    Exponentials,
    Linear,
    Threshold,
    exponentials_of,
    form_of,
)
from onnxplain_server.language.parse import names_in, parse
from onnxplain_server.language.scope import Scope
from onnxplain_server.language.tree import Expression, ValueKind

__all__ = [
    "ColumnValues",
    "Exponentials",
    "Expression",
    "Linear",
    "Scope",
    "Threshold",
    "ValueKind",
    "evaluate",
    "evaluate_stored",
    "evaluate_unchecked",
    "exponentials_of",
    "form_of",
    "names_in",
    "parse",
]
