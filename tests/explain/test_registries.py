"""Each room's table of methods has every method of the contract, and no other."""

import pytest
from onnxplain.v1.explanation_service_pb2 import Explanation, MethodOptions
from onnxplain_server.explain.registry import Preparation, preparation
from onnxplain_server.methods.registry import METHODS, SEQUENCES, Method, method_of
from onnxplain_server.plots.drawing import Drawing
from onnxplain_server.plots.registry import drawing
from onnxplain_server.report.registry import of_method

CONTRACT = [field.name for field in MethodOptions.DESCRIPTOR.oneofs_by_name["method"].fields]


def test_every_method_of_the_contract_is_in_the_table() -> None:
    assert sorted(METHODS) == sorted(CONTRACT)


@pytest.mark.parametrize("method", [*METHODS.values(), SEQUENCES], ids=lambda m: m.module)
def test_every_method_has_its_module_in_each_room(method: Method) -> None:
    assert isinstance(preparation(method), Preparation)
    assert isinstance(drawing(method), Drawing)
    assert {method.options.__name__, method.result.__name__} == {"Options", "Result"}


@pytest.mark.parametrize("method", [*METHODS.values(), SEQUENCES], ids=lambda m: m.module)
def test_options_and_results_belong_to_their_method(method: Method) -> None:
    options, result = (object.__new__(kind) for kind in (method.options, method.result))

    assert method_of(options) is method
    assert method_of(result) is method


@pytest.mark.parametrize("name", CONTRACT)
def test_every_method_is_reported(name: str) -> None:
    report = of_method(name)

    assert report.question.endswith("?")
    assert report.limits
    assert callable(report.findings)


def test_results_are_named_as_methods() -> None:
    results = [field.name for field in Explanation.DESCRIPTOR.oneofs_by_name["result"].fields]

    assert sorted(results) == sorted(CONTRACT)
