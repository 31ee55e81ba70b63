"""An answer with two methods, plots, a warning and a receipt."""

import pytest
from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain.v1 import interactions_pb2, partial_dependence_pb2, plot_pb2, table_pb2

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
            pb.Explanation(interactions=interactions(), plots=plots[:2]),
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
