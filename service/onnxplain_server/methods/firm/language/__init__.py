"""Feature functions as texts: a small language over the columns of a table.

A text becomes a tree of the few operations that there are. It is never run as
a program: what is not on the lists of this package is refused, with its place.
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
