"""Trials on some rows: numbers draw other rows, since trees remember what they counted on some."""

import numpy as np
from onnxplain_server.effects.batch_size import BatchSize
from onnxplain_server.explain import BoundTable, Question, Resources
from onnxplain_server.explain.bound_request import BoundRequest
from onnxplain_server.trees.reading.refusal import Refusal


def test_a_second_trial_is_on_as_many_other_rows(make) -> None:
    model = make.model(lambda a: a, ("a",), ["double"])
    question = Question(methods=(), seed=2**31 - 1)
    resources = Resources(make.host(), BatchSize(), make.pool(1), lambda: Refusal("a function"))
    table = BoundTable(make.table({"a": np.arange(500.0)}), question, model)
    request = BoundRequest(model, table, question, resources, rows_once=False)

    first, same, second = (request.trial(30, number).sample.drawn for number in (0, 0, 1))

    assert len(first) == len(second) == 30
    assert first.tolist() == same.tolist()
    assert first.tolist() != second.tolist()
