"""Public names of `import onnxplain`, and the imports that it costs."""

import ast
import subprocess
import sys
from pathlib import Path

import onnxplain
import pytest

PUBLIC = [
    "AccumulatedLocalEffect",
    "AccumulatedLocalEffects",
    "AccumulatedLocalEffectsResult",
    "AsyncClient",
    "AsyncOperation",
    "Attributions",
    "AttributionsResult",
    "AverageLoss",
    "AverageLossResult",
    "ClassPairing",
    "Client",
    "ColumnDescription",
    "Conclusion",
    "CurveDifference",
    "DifferingRow",
    "ExplainError",
    "ExplanationComparison",
    "ExplanationPlan",
    "Explanations",
    "FeatureImportance",
    "FeatureMatching",
    "FeatureVectors",
    "FeatureVectorsResult",
    "Firm",
    "FirmImportance",
    "FirmKmers",
    "FirmPairs",
    "FirmResult",
    "FirmSequences",
    "GroupDifference",
    "GroupLoss",
    "IndividualConditionalExpectation",
    "IndividualConditionalExpectationCurves",
    "IndividualConditionalExpectationResult",
    "InteractionStatistic",
    "Interactions",
    "InteractionsResult",
    "Knockoffs",
    "LeadingChange",
    "LikelyCause",
    "MethodPlan",
    "ModelDescription",
    "ModelInput",
    "ModelRef",
    "ModelUri",
    "Operation",
    "OutputComparison",
    "PartialDependence",
    "PartialDependenceCurve",
    "PartialDependenceResult",
    "PartialExplanation",
    "PermutationImportance",
    "PermutationImportanceResult",
    "PlanSaving",
    "Plot",
    "PredictionComparison",
    "Predictions",
    "Progress",
    "RankingComparison",
    "Receipt",
    "Reference",
    "RemainingQuota",
    "RemoteInput",
    "RemoteModel",
    "RemoteModelReceipt",
    "RowsUsed",
    "Source",
    "StatisticDifference",
    "Swarm",
    "SwarmEffect",
    "SwarmResult",
    "TableDescription",
    "TableRef",
    "TableUris",
    "UnmatchedStatistic",
    "connect",
    "connect_async",
    "export",
    "load",
    "local",
]
PACKAGE = Path(onnxplain.__file__).parent


def loaded_by(code: str):
    """Return which heavy modules a fresh interpreter has after `code`."""
    heavy = ["grpc", "pyarrow", "pandas", "numpy", "IPython", "vl_convert", "onnxplain_server"]
    code += f"\nimport sys; print([name for name in {heavy} if name in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    return ast.literal_eval(done.stdout)


def test_the_public_names_are_these() -> None:
    assert onnxplain.__all__ == PUBLIC
    assert dir(onnxplain) == PUBLIC


@pytest.mark.parametrize("name", PUBLIC)
def test_each_public_name_leads_to_what_is_called_so(name: str) -> None:
    assert getattr(onnxplain, name).__name__ == name


def test_no_public_name_is_that_of_a_module_which_would_take_its_place() -> None:
    assert not {path.stem for path in PACKAGE.glob("*.py")} & set(PUBLIC)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'Interaction'"):
        onnxplain.Interaction  # noqa: B018 - looking is the test


def test_importing_the_package_imports_nothing_heavy() -> None:
    assert loaded_by("import onnxplain") == []


def test_importing_the_messages_imports_nothing_heavy() -> None:
    assert loaded_by("import onnxplain.v1.explanation_service_pb2") == []


def test_the_error_can_be_caught_without_importing_grpc() -> None:
    assert loaded_by("import onnxplain; onnxplain.ExplainError") == []


def test_the_client_works_without_pandas_without_a_notebook_and_without_the_server() -> None:
    loaded = loaded_by("import onnxplain; onnxplain.connect; onnxplain.connect_async")
    assert loaded == ["grpc", "pyarrow", "numpy"]


def test_a_frame_tells_that_it_needs_pandas() -> None:
    program = """
import sys
class Without:
    def find_spec(self, name, *_):
        if name.partition(".")[0] == "pandas":
            raise ModuleNotFoundError("No module named 'pandas'", name="pandas")
sys.meta_path.insert(0, Without())
import pyarrow
from onnxplain.results.tabular import to_frame
to_frame(pyarrow.table({"a": [1]}))
"""
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=False
    )
    assert "ModuleNotFoundError: to_pandas() needs pandas: pip install pandas" in ended.stderr


def test_nothing_is_pickled() -> None:
    modules = [path.name for path in PACKAGE.rglob("*.py") if "pickle" in path.read_text()]
    assert modules == []


def test_no_module_of_the_client_mentions_the_server_package() -> None:
    modules = [path for path in PACKAGE.rglob("*.py") if "onnxplain_server" in path.read_text()]
    assert modules == []


def test_the_types_are_published() -> None:
    assert (PACKAGE / "py.typed").is_file()
