"""The use case: a model, a table and a question in; results with plots and a receipt out."""

from onnxplain_server.explain.engine import ClassMargin, Resources
from onnxplain_server.explain.question import Engine, Question
from onnxplain_server.explain.sample import RowsUsed, bind_features
from onnxplain_server.explain.use_case import Answer, Explanation, explain
from onnxplain_server.explain.weighing import weigh

__all__ = [
    "Answer",
    "ClassMargin",
    "Engine",
    "Explanation",
    "Question",
    "Resources",
    "RowsUsed",
    "bind_features",
    "explain",
    "weigh",
]
