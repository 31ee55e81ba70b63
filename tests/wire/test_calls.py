"""Table of the calls that a runner answers, beside the contract and the runner."""

from onnxplain.v1.explanation_service_pb2 import DESCRIPTOR, DescribeTableRequest
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.wire.calls import CALLS, REQUESTS


def test_each_method_of_the_contract_that_takes_a_model_or_an_answer_is_a_call() -> None:
    methods = DESCRIPTOR.services_by_name["ExplanationService"].methods
    taking = {
        each.name for each in methods if {"model", "answer"} & set(each.input_type.fields_by_name)
    }

    assert {each.rpc for each in CALLS.values()} == taking - {"UploadModel"}
    assert REQUESTS[ServiceMethod.DESCRIBE_TABLE] is DescribeTableRequest


def test_a_runner_answers_each_of_them() -> None:
    runner = InProcess(1)

    assert {ServiceMethod.EXPLAIN, *runner._answers} == set(CALLS)
    runner.close()
