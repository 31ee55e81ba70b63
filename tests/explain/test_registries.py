"""Each room's table of methods has every method of the contract, and no other."""

from collections.abc import Iterable

import pytest
from onnxplain.v1.explanation_service_pb2 import Explanation, MethodOptions
from onnxplain_server.explain.registry import PREPARATIONS
from onnxplain_server.methods.registry import METHODS, SEQUENCES
from onnxplain_server.plots.registry import PLOTS
from onnxplain_server.report.registry import of_method

CONTRACT = [field.name for field in MethodOptions.DESCRIPTOR.oneofs_by_name["method"].fields]


@pytest.mark.parametrize("table", [METHODS, PREPARATIONS], ids=["methods", "explain"])
def test_every_method_of_the_contract_is_in_the_table(table: Iterable[str]) -> None:
    assert sorted(table) == sorted(CONTRACT)


def test_every_result_is_drawn() -> None:
    results = [method.result for method in (*METHODS.values(), SEQUENCES)]

    assert set(PLOTS) == set(results)


@pytest.mark.parametrize("name", CONTRACT)
def test_every_method_is_reported(name: str) -> None:
    report = of_method(name)

    assert report.question.endswith("?")
    assert report.limits
    assert callable(report.findings)


def test_results_are_named_as_methods() -> None:
    results = [field.name for field in Explanation.DESCRIPTOR.oneofs_by_name["result"].fields]

    assert sorted(results) == sorted(CONTRACT)
