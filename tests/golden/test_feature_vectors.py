"""Feature vectors of fixed forests are those worked out by another program.

`featurevectors/README.md` says how they were made and within which tolerances they hold.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnxplain_server.methods.feature_vectors.cooccurrence import CountingUnit, Rule, count
from onnxplain_server.methods.feature_vectors.embedding import embed
from onnxplain_server.methods.feature_vectors.paths import of_sentences

Json = dict[str, Any]
Explain = Callable[[Path, Json], Json]

ROOT = Path(__file__).parent / "featurevectors"
FORESTS = sorted(path.parent for path in ROOT.glob("*/expected.json"))
SENTENCES = json.loads((ROOT / "sentences.json").read_text())["cases"]

OPTIONS: dict[str, Json] = {
    "algorithm1": {},
    "algorithm1_drop_short": {"minSplitCount": 3},
    "distance_with_diagonal": {"counting": "PER_PATH", "fillDiagonal": True},
    "package_path_order": {
        "window": 2,
        "counting": "PER_PATH",
        "fillDiagonal": True,
        "minSplitCount": 3,
    },
}
RULES = {
    "cooccurrence_algorithm1": Rule(),
    "cooccurrence_window2": Rule(window=2),
    "cooccurrence_window5": Rule(window=5),
    "cooccurrence_algorithm1_drop_short": Rule(min_split_count=3),
    "cooccurrence_package_path_order_window_size_1": Rule(2, CountingUnit.PER_PATH, True, 3),
}


def expected(case: Path) -> Json:
    loaded: Json = json.loads((case / "expected.json").read_text())
    return loaded


def vectors(explain: Explain, case: Path, options: Json) -> Json:
    """Explain as a user does, who has the model and no table."""
    asked = {"includeCooccurrence": True, **options}
    request = {
        "featureColumns": expected(case)["feature_names"],
        "methods": [{"featureVectors": asked}],
        "plots": False,
    }
    result: Json = explain(case, request)["explanations"][0]["featureVectors"]
    return result


@pytest.mark.parametrize("key", OPTIONS)
@pytest.mark.parametrize("case", FORESTS, ids=lambda case: case.name)
def test_counts_are_exact(explain: Explain, case: Path, key: str) -> None:
    wanted = np.array(expected(case)[key]["cooccurrence"])

    found = vectors(explain, case, OPTIONS[key])

    assert np.array_equal(np.array(found["cooccurrence"]).reshape(wanted.shape), wanted)


@pytest.mark.parametrize("key", ["algorithm1", "package_path_order"])
@pytest.mark.parametrize("case", FORESTS, ids=lambda case: case.name)
def test_vectors_agree(explain: Explain, case: Path, key: str) -> None:
    wanted = expected(case)[key]

    found = vectors(explain, case, OPTIONS[key])

    embedding = np.array(found["vectors"]).reshape(-1, 2)
    assert embedding @ embedding.T == pytest.approx(np.array(wanted["gram"]), rel=1e-6)
    assert found["norms"] == pytest.approx(wanted["norms"], rel=1e-6)
    assert found["relativeNorms"] == pytest.approx(wanted["norms_scaled_to_max_one"], rel=1e-6)
    assert np.argsort(found["norms"])[::-1].tolist() == wanted["importance_order"]
    assert found["singularValues"] == pytest.approx(wanted["singular_values"], rel=1e-6)
    ratios = {name: sum(values) for name, values in wanted["explained_variance"].items()}
    assert found["explainedVarianceRatio"] == pytest.approx(ratios["variance_ratio"], rel=1e-6)
    assert found["explainedEnergyRatio"] == pytest.approx(ratios["energy_ratio"], rel=1e-6)


@pytest.mark.parametrize("case", FORESTS, ids=lambda case: case.name)
def test_angles_between_features_agree(explain: Explain, case: Path) -> None:
    wanted = np.array(expected(case)["algorithm1"]["pairwise_angle_degrees"], dtype=float)

    angles = np.array(vectors(explain, case, {})["anglesDegrees"], dtype=float)

    apart = np.abs((angles[:, None] - angles + 180) % 360 - 180)
    assert apart == pytest.approx(wanted, abs=1e-3)


@pytest.mark.parametrize("case", FORESTS, ids=lambda case: case.name)
def test_every_path_of_every_tree_is_a_sentence(explain: Explain, case: Path) -> None:
    wanted = expected(case)

    found = vectors(explain, case, {})

    assert (found["sentenceCount"], found["treeCount"]) == (
        wanted["n_sentences"],
        wanted["n_trees"],
    )


@pytest.mark.parametrize("key", RULES)
@pytest.mark.parametrize("case", SENTENCES, ids=lambda case: case["name"])
def test_sentences_worked_by_hand_are_counted_so(case: Json, key: str) -> None:
    paths = of_sentences(case["sentences"], len(case["feature_names"]))

    assert count(paths, RULES[key]).toarray().tolist() == case[key]


@pytest.mark.parametrize("case", SENTENCES, ids=lambda case: case["name"])
def test_sentences_worked_by_hand_give_these_vectors(case: Json) -> None:
    paths = of_sentences(case["sentences"], len(case["feature_names"]))

    found = embed(count(paths, Rule()), 2)

    assert found.vectors @ found.vectors.T == pytest.approx(np.array(case["gram"]), abs=1e-6)
    assert found.singular_values[:4] == pytest.approx(case["singular_values"][:4], abs=1e-6)
