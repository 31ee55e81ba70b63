"""Interaction statistics of Friedman and Popescu: which features act together, how strongly."""

from onnxplain_server.methods.interactions.compute import approximate, compute, cost
from onnxplain_server.methods.interactions.options import Options, resolve
from onnxplain_server.methods.interactions.result import Result, Statistic

__all__ = ["Options", "Result", "Statistic", "approximate", "compute", "cost", "resolve"]
