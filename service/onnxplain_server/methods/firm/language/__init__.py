"""Expression language for features: safe Python-like expressions over the columns of a table.

Read `source`, `grammar`, `parse` (text to tree), `tree`, `evaluate` (tree to values) and `forms`.
Text is never executed: whatever is not allow-listed here is rejected with its position.
"""

from onnxplain_server.methods.firm.language.columns import ColumnValues
from onnxplain_server.methods.firm.language.evaluate import evaluate
from onnxplain_server.methods.firm.language.forms import Linear, Threshold, form_of
from onnxplain_server.methods.firm.language.parse import parse
from onnxplain_server.methods.firm.language.tree import Expression, ValueKind

__all__ = [
    "ColumnValues",
    "Expression",
    "Linear",
    "Threshold",
    "ValueKind",
    "evaluate",
    "form_of",
    "parse",
]
