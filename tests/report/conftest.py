"""Answers with plots, a warning and a receipt: by two methods, and by all."""

from typing import Any

import pytest
from onnxplain.v1 import (
    average_loss_pb2,
    individual_conditional_expectation_pb2,
    interactions_pb2,
    partial_dependence_pb2,
    permutation_importance_pb2,
    plot_pb2,
    table_pb2,
)
from onnxplain.v1 import explanation_service_pb2 as pb

BARS = '{"data": {"values": [{"a": 1}]}, "mark": "bar", "encoding": {"x": {"field": "a"}}}'


def statistic(
    features: list[str], numerators: list[float]
) -> interactions_pb2.InteractionStatistic:
    return interactions_pb2.InteractionStatistic(
        features=features,
        numerators=numerators,
        denominators=[16.0, 16.0],
        values=[numerator / 16 for numerator in numerators],
    )


def interactions() -> interactions_pb2.InteractionsResult:
    return interactions_pb2.InteractionsResult(
        output_names=["low", "high"],
        mean_squares=[16.0, 16.0],
        total=statistic([], [4.0, 1.0]),
        overall=[statistic(["age"], [1.0, 0.0]), statistic(["bmi"], [0.25, 4.0])],
        pairwise=[statistic(["age", "bmi"], [float("nan"), 1.0])],
    )


def curves() -> partial_dependence_pb2.PartialDependenceResult:
    curve = partial_dependence_pb2.PartialDependenceCurve
    column = table_pb2.Column
    return partial_dependence_pb2.PartialDependenceResult(
        output_names=["price"],
        curves=[
            curve(
                features=["age"],
                group="north",
                grid=[column(name="age", numbers=[20, 30, float("nan")])],
                values=[104.123, 101.987, 103.5],
            ),
            curve(
                features=["age", "region"],
                grid=[
                    column(name="age", numbers=[20, 30]),
                    column(name="region", strings=["east", ""]),
                ],
                values=[1.5, 1.25],
            ),
        ],
    )


def individual() -> pb.Explanation:
    """Four rows, three of group f, over two features."""
    curves = individual_conditional_expectation_pb2.IndividualConditionalExpectationCurves
    grid = [table_pb2.Column(name="x", numbers=[20, 30])]
    rows: Any = {"row_indices": [7, 11, 1234, 5], "groups": ["f", "f", "m", "f"], "grid": grid}
    return pb.Explanation(
        individual_conditional_expectation={
            "output_names": ["price"],
            "curves": [
                curves(feature="bmi", values=[1, 1.5, 2, 2.5, 3, 2.5, 1, 1], **rows),
                curves(feature="age", values=[1, 3, 5, 1, 2, 3, 0, 9], **rows),
            ],
        },
        options=pb.MethodOptions(individual_conditional_expectation={"group_columns": ["sex"]}),
    )


def importance() -> pb.Explanation:
    entry = permutation_importance_pb2.PermutationImportance
    return pb.Explanation(
        permutation_importance={
            "output_names": ["price"],
            "baseline_losses": [1.5],
            "importances": [
                entry(features=["age"], values=[-0.01], standard_errors=[0]),
                entry(features=["bmi"], values=[2.3456], standard_errors=[0.125]),
                entry(features=["age", "bmi"], values=[0.5], standard_errors=[float("nan")]),
            ],
        },
        options=pb.MethodOptions(permutation_importance={"loss": "ABSOLUTE_ERROR"}),
    )


def loss() -> pb.Explanation:
    entry = average_loss_pb2.AverageLoss
    return pb.Explanation(
        average_loss={
            "output_names": ["price"],
            "losses": [
                entry(group="north", values=[4], weight=12),
                entry(group="south", values=[9], weight=7.5),
            ],
        },
        options=pb.MethodOptions(average_loss={"loss": "SQUARED_ERROR", "group_column": "region"}),
    )


@pytest.fixture
def every_answer(answer: pb.ExplainResponse) -> pb.ExplainResponse:
    """The answer, with the other methods too."""
    answer.explanations.extend([individual(), importance(), loss()])
    return answer


@pytest.fixture
def answer() -> pb.ExplainResponse:
    plots = [
        plot_pb2.Plot(
            name=name, title=f"{name}!", description=f"What {name} shows.", vega_lite=BARS
        )
        for name in ("overall", "pairwise", "curve-age")
    ]
    return pb.ExplainResponse(
        explanations=[
            pb.Explanation(
                interactions=interactions(),
                plots=plots[:2],
                rows={"drawn_row_count": 16281, "used_row_count": 16000, "weight": 20481.5},
            ),
            pb.Explanation(partial_dependence=curves(), plots=plots[2:]),
        ],
        model={
            "digest": "sha256:0123456789abcdef",
            "output_names": ["low"],
            "producer": "skl2onnx",
        },
        receipt=pb.Receipt(row_count=7, seed=3, predicted_row_count=1234, engine="BLACK_BOX"),
        warnings=[{"code": "LABELS_ONLY", "message": "only labels"}],
    )
