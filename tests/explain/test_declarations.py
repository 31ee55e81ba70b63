"""Each entry that a method declares, by name: none is lost when methods change."""

from __future__ import annotations

from dataclasses import MISSING, fields

import pytest
from onnxplain_server.explain.registry import Preparation, preparation
from onnxplain_server.methods.registry import METHODS, SEQUENCES, Method
from onnxplain_server.plots.drawing import Drawing
from onnxplain_server.plots.registry import drawing
from onnxplain_server.report.registry import MethodReport, of_method

ALWAYS = {"prepare", "rehearsing"}
DRAWN = {
    "interactions": {"beside", "compared_with", "compare"},
    "permutation_importance": {"beside"},
    "feature_vectors": {"named"},
    "swarm": {"named"},
}
"""What a method declares to plots beside `plots`."""
REPORTED = {
    "permutation_importance": {"ranking"},
    "interactions": {"ranking"},
    "partial_dependence": {"has_curves"},
    "average_loss": {"heading"},
    "attributions": {"is_told_in_section"},
}
"""What it declares to reports beside tables, sentences and texts."""
TEXTS = {"findings", "sentences", "title", "question", "limits"}
DECLARED = {
    "interactions": {
        *("has_estimate", "seconds"),
        *("moves_few_features", "leaves_out_additive", "is_quadratic_on_trees", "is_count_exact"),
        *("sample_shares", "has_small_samples", "with_intervals", "costliest", "changes"),
        *("warm_up", "resamples_rows", "single_features"),
    },
    "partial_dependence": {
        *("moves_few_features", "sample_shares", "changes", "warm_up", "resamples_rows"),
    },
    "individual_conditional_expectation": {"changes", "warm_up"},
    "permutation_importance": {
        *("sample_shares", "fewer_repetitions", "repetitions", "changes", "resamples_rows"),
        "single_features",
    },
    "average_loss": {"resamples_rows"},
    "feature_vectors": {
        *("unread_prediction", "seconds", "changes", "warm_up", "is_warm_after_one"),
        "single_features",
    },
    "firm": {"rows_once", "unread_prediction", "resamples_rows", "single_features"},
    "swarm": {
        *(
            "is_predicted_on_trees",
            "unread_prediction",
            "fewer_repetitions",
            "repetitions",
            "changes",
        ),
        *("warm_up", "is_warm_after_one"),
    },
    "attributions": {
        *(
            "fewer_repetitions",
            "repetitions",
            "changes",
            "warm_up",
            "is_warm_after_one",
            "is_on_margin",
            "seconds",
            "answer_bytes",
            "single_features",
        ),
    },
    "accumulated_local_effects": {"moves_few_features", "warm_up", "resamples_rows"},
    "sequences": {"is_alone", "unread_prediction", "seconds"},
}


def entries(declared: Preparation | Drawing | MethodReport) -> set[str]:
    """Entries that are not what a method has that declares nothing."""
    return {
        field.name
        for field in fields(declared)
        if field.default is MISSING or getattr(declared, field.name) != field.default
    }


@pytest.mark.parametrize("method", [*METHODS.values(), SEQUENCES], ids=lambda m: m.module)
def test_a_method_declares_its_entries(method: Method) -> None:
    assert entries(preparation(method)) == ALWAYS | DECLARED[method.module]


@pytest.mark.parametrize("method", [*METHODS.values(), SEQUENCES], ids=lambda m: m.module)
def test_a_method_declares_its_drawing(method: Method) -> None:
    assert entries(drawing(method)) == {"plots"} | DRAWN.get(method.module, set())


@pytest.mark.parametrize("name", METHODS)
def test_a_method_declares_its_report(name: str) -> None:
    assert entries(of_method(name)) == TEXTS | REPORTED.get(name, set())
