"""Numbers that are NaN or infinite are not summed up as nothing."""

import math

import pytest
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain_server.report import summary

NAN, INFINITE = math.nan, math.inf


def statistic(numerator: float, *features: str) -> dict[str, object]:
    return {
        "features": features,
        "numerators": [numerator],
        "denominators": [numerator],
        "values": [NAN],
    }


def interactions(numerator: float) -> pb.Explanation:
    return pb.Explanation(
        interactions={
            "output_names": ["y"],
            "mean_squares": [numerator],
            "total": statistic(numerator),
            "overall": [statistic(numerator, name) for name in "ab"],
            "pairwise": [statistic(numerator, "a", "b")],
        }
    )


def curve(*values: float) -> pb.Explanation:
    grid = {"name": "a", "numbers": [*range(len(values))]}
    one = {"features": ["a"], "grid": [grid], "values": values}
    return pb.Explanation(partial_dependence={"output_names": ["y"], "curves": [one]})


def shuffled(value: float) -> pb.Explanation:
    one = {"features": ["a"], "values": [value], "standard_errors": [NAN]}
    result = {"output_names": ["y"], "baseline_losses": [1.0], "importances": [one]}
    options = {"permutation_importance": {"loss": "SQUARED_ERROR"}}
    return pb.Explanation(permutation_importance=result, options=options)


def moved(importance: float) -> pb.Explanation:
    return pb.Explanation(swarm={"effects": [{"feature": "a", "importance": importance}]})


@pytest.mark.parametrize(
    ("broken", "nothing", "sentence"),
    [
        (interactions(NAN), interactions(0.0), "No pair of features interacts."),
        (interactions(INFINITE), interactions(0.0), "No pair of features interacts."),
        (curve(-1.6e308, 1.6e308), curve(7.0, 7.0), "No feature asked about moves the average"),
        (shuffled(NAN), shuffled(0.0), "Shuffling no feature makes"),
        (moved(NAN), moved(0.0), "No move of a feature makes predictions worse."),
    ],
)
def test_only_zeros_are_told_as_nothing(
    broken: pb.Explanation, nothing: pb.Explanation, sentence: str
) -> None:
    told = [summary.of_answer(pb.ExplainResponse(explanations=[one])) for one in (broken, nothing)]

    assert [any(sentence in text for text in texts) for texts in told] == [False, True]


def test_rounding_is_no_movement() -> None:
    (sentence,) = summary.of_answer(pb.ExplainResponse(explanations=[curve(7.0, 7.0 + 1e-15)]))

    assert sentence == "No feature asked about moves the average prediction."
