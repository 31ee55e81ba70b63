"""The use case: a model, a table and a question in; results with plots and a receipt out.

Read `use_case`, then `bound_request`, `engines/engine_choice`, `sample`, and `methods/` with
one file per method. It neither reads or writes messages nor knows of transport, processes or files.
"""

from onnxplain_server.explain.explanation import Explanation, PartialExplanation
from onnxplain_server.explain.question import Engine, Question
from onnxplain_server.explain.registry import choose_scale
from onnxplain_server.explain.resources import ClassMargin, Resources
from onnxplain_server.explain.sample import BoundTable, RowsUsed
from onnxplain_server.explain.use_case import Answer, explain
from onnxplain_server.trees.tree_memo import TreeMemo

__all__ = [
    "Answer",
    "BoundTable",
    "ClassMargin",
    "Engine",
    "Explanation",
    "PartialExplanation",
    "Question",
    "Resources",
    "RowsUsed",
    "TreeMemo",
    "choose_scale",
    "explain",
]
