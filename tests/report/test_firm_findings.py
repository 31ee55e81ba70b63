"""FIRM as tables of texts."""

from onnxplain.v1 import explanation_service_pb2 as pb
from onnxplain.v1.firm_pb2 import (
    FirmContrast,
    FirmImportance,
    FirmOptions,
    FirmResult,
    FirmSequencesResult,
    FirmTopKmer,
)
from onnxplain_server.report.registry import of_explanation


def one(feature: str, values: list[float], *, spread: bool) -> FirmImportance:
    made = FirmImportance(feature=feature, values=values, estimator=FirmOptions.SLOPE)
    if spread:
        made.standard_errors.extend([0.25] * len(values))
        made.lower.extend([value - 0.5 for value in values])
        made.upper.extend([value + 0.5 for value in values])
    return made


def test_importances_come_by_size_with_their_intervals() -> None:
    result = FirmResult(
        output_names=["y"],
        importances=[one("a", [0.5], spread=True), one("b > 2", [-3.0], spread=True)],
        contrasts=[FirmContrast(contrast=FirmOptions.WEIGHT, feature="a", values=[1.5])],
        confidence_level=0.9,
    )

    first, second = of_explanation(pb.Explanation(firm=result))

    assert first.rows == (
        ("b > 2", "−3", "0.25", "−3.5 … −2.5", "SLOPE"),
        ("a", "0.5", "0.25", "0 … 1", "SLOPE"),
    )
    assert [heading.title for heading in first.columns][1:4] == [
        "importance (units of y)",
        "± s.e.",
        "90 % interval",
    ]
    assert second.rows == (("weight", "a", "1.5"),)


def test_several_outputs_have_a_row_each_and_no_interval_no_column() -> None:
    result = FirmResult(output_names=["low", "high"], importances=[one("a", [1, 2], spread=False)])

    (found,) = of_explanation(pb.Explanation(firm=result))

    assert found.rows == (("a", "low", "1", "SLOPE"), ("a", "high", "2", "SLOPE"))


def test_strings_are_listed_by_importance() -> None:
    top = [FirmTopKmer(kmer="GAT", position=3, difference=0.5, importance=0.125)]
    result = FirmResult(
        output_names=["score"], sequences=FirmSequencesResult(top=top, is_exact=True)
    )

    (found,) = of_explanation(pb.Explanation(firm=result))

    assert found.rows == (("GAT", "3", "0.5", "0.125"),)
    assert found.note.startswith("exact")
