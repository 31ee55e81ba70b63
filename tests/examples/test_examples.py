"""The documented examples say what their pages say, and what hstats' README says."""

import json
import math
import re
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
PUBLISHED = json.loads((ROOT / "examples" / "hstats.json").read_bytes())
PRINTED = {
    "iris-lightgbm": 1e-6,
    "iris-xgboost": 1e-5,
    "iris-linear": 0,
    "miami-published": 5e-3,
    "r-forest": 5e-3,
    "r-linear": 0,
}
"""To what share of it hstats prints H²: in full; to seven digits; 0; to two digits."""
IMPORTANCES = json.loads((ROOT / "examples" / "hstats_importances.json").read_bytes())
OUR_REPEATS, THEIR_REPEATS = 100, 4
BAR_RELATIVE, BAR_ABSOLUTE = 1e-4, 5e-5
"""How exactly bars can be read off hstats' pictures, which round bars and ticks to 0.01 points."""

Answer = Mapping[str, Any]
Answers = Mapping[str, Answer]


def interactions(answer: Answer):
    return answer["explanations"][0]["interactions"]


def numbers(answer: Answer, statistic: str, form: str) -> dict[str, list[float]]:
    found = interactions(answer)[statistic]
    return {
        " × ".join(entry["features"]): entry["values"]
        if form == "share"
        else [math.sqrt(numerator) for numerator in entry["numerators"]]
        for entry in found
    }


def strongest(answer: Answer, statistic: str, form: str, output: int = 0) -> list[str]:
    found = numbers(answer, statistic, form)
    return sorted(found, key=lambda features: -found[features][output])


def pictures() -> Iterator[Any]:
    for name, forms in PUBLISHED.items():
        for form, statistics in forms.items():
            for statistic in statistics.keys() - {"total"}:
                yield pytest.param(name, form, statistic, id=f"{name} {statistic} {form}")


def test_pages_show_what_their_commands_answer(
    ran: tuple[Path, subprocess.CompletedProcess[str]],
) -> None:
    _, ended = ran
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("page", ["iris.md", "miami.md"])
def test_pictures_on_pages_are_those_that_commands_draw(
    ran: tuple[Path, subprocess.CompletedProcess[str]], page: str
) -> None:
    folder, _ = ran
    shown = re.findall(
        r"!\[.*?\]\(\.\./images/(.*?)\)", (ROOT / "docs/examples" / page).read_text()
    )
    assert shown
    assert all((folder / "docs/images" / name).read_bytes()[:4] == b"\x89PNG" for name in shown)


@pytest.mark.parametrize("name", PRINTED)
def test_total_is_what_hstats_prints(answers: Answers, name: str) -> None:
    total = interactions(answers[name])["total"]["values"]
    assert total == pytest.approx(PUBLISHED[name]["share"]["total"][""], rel=PRINTED[name], abs=0)


@pytest.mark.parametrize(("name", "form", "statistic"), list(pictures()))
def test_statistics_are_as_long_as_hstats_bars(
    answers: Answers, name: str, form: str, statistic: str
) -> None:
    found, published = numbers(answers[name], statistic, form), PUBLISHED[name][form][statistic]
    assert found.keys() >= published.keys()
    for features, values in published.items():
        assert found[features] == pytest.approx(values, rel=BAR_RELATIVE, abs=BAR_ABSOLUTE)


def test_r_s_forest_has_the_statistics_that_hstats_computes_in_r(answers: Answers) -> None:
    """By hstats 1.2.2 in R, for the same forest: H², H²_j, and a pair."""
    found = interactions(answers["r-forest"])
    overall = numbers(answers["r-forest"], "overall", "share")
    pairs = numbers(answers["r-forest"], "pairwise", "share")

    assert found["total"]["values"] == pytest.approx([0.053789575739500], rel=1e-12)
    assert overall["Petal.Length"] == pytest.approx([0.036927731459], rel=1e-10)
    assert pairs["Sepal.Width × Petal.Width"] == pytest.approx([0.039521417558], rel=1e-10)


def test_mlr3_s_forest_has_the_statistics_that_hstats_computes_in_r(answers: Answers) -> None:
    expected = [0.00265199162436, 0.0648513686289, 0.0461868099883]

    assert interactions(answers["r-mlr3"])["total"]["values"] == pytest.approx(expected, rel=1e-10)


def test_log_loss_of_r_s_forest_is_that_of_hstats(answers: Answers) -> None:
    """README: 0.02; in R, for the same forest: 0.0198737997065."""
    (entry,) = answers["r-species-loss"]["explanations"]

    assert entry["averageLoss"]["losses"][0]["values"] == pytest.approx([0.0198737997065], rel=1e-6)


@pytest.mark.parametrize("name", sorted(IMPORTANCES))
def test_permutation_importances_are_within_four_standard_errors(
    answers: Answers, name: str
) -> None:
    """Of the difference: the README shuffles four times, which widens our error by √25."""
    entry = next(e for e in answers[name]["explanations"] if "permutationImportance" in e)
    widen = math.sqrt(1 + OUR_REPEATS / THEIR_REPEATS)
    for found in entry["permutationImportance"]["importances"]:
        distance = found["values"][0] - IMPORTANCES[name][found["features"][0]]
        assert abs(distance) < 4 * widen * found["standardErrors"][0]


def test_ocean_and_age_interact_most_by_share_and_by_size(answers: Answers) -> None:
    for form in ("share", "size"):
        assert strongest(answers["miami-published"], "pairwise", form)[0] == "OCEAN_DIST × age"


def test_land_and_age_are_strong_by_share_only(answers: Answers) -> None:
    pair = "LND_SQFOOT × age"
    assert strongest(answers["miami-published"], "pairwise", "share").index(pair) == 1
    assert strongest(answers["miami-published"], "pairwise", "size").index(pair) > 5


def test_effect_of_age_fades_towards_the_ocean(answers: Answers) -> None:
    curves = answers["miami-by-ocean"]["explanations"][0]["partialDependence"]["curves"]
    by_distance = sorted(curves, key=lambda curve: float(curve["group"][1:].split(",")[0]))
    changes = [curve["values"][-1] - curve["values"][0] for curve in by_distance]
    assert abs(changes[0]) < 0.05
    assert changes == sorted(changes, reverse=True)
    assert changes[-1] < -0.3


@pytest.mark.parametrize("seed", [1, 2, 3, 4])
def test_other_draws_give_the_same_reading(answers: Answers, seed: int) -> None:
    answer = answers[f"miami-draw-{seed}"]
    assert 0.07 < numbers(answer, "pairwise", "share")["OCEAN_DIST × age"][0] < 0.12
    assert 0.05 < numbers(answer, "overall", "share")["OCEAN_DIST"][0] < 0.08


def test_another_trainer_gives_the_same_reading(answers: Answers) -> None:
    demo = answers["miami-demo"]
    assert 0.08 < interactions(demo)["total"]["values"][0] < 0.12
    assert strongest(demo, "overall", "share")[0] == "OCEAN_DIST"
    assert strongest(demo, "overall", "share")[-1] == "month_sold"
    assert strongest(demo, "pairwise", "share")[0] == "OCEAN_DIST × age"


@pytest.mark.parametrize("output", [0, 1])
def test_iris_pair_of_largest_share_is_not_the_largest(answers: Answers, output: int) -> None:
    lightgbm = answers["iris-lightgbm"]
    assert strongest(lightgbm, "pairwise", "share", output)[0] == "sepal_length × petal_width"
    assert strongest(lightgbm, "pairwise", "size", output)[0] == "petal_length × petal_width"


@pytest.mark.parametrize("output", [0, 1, 2])
def test_xgboost_combines_both_petal_measurements(answers: Answers, output: int) -> None:
    xgboost = answers["iris-xgboost"]
    assert strongest(xgboost, "pairwise", "size", output)[0] == "petal_length × petal_width"


def test_scores_interact_less_than_their_softmax(answers: Answers) -> None:
    scores = interactions(answers["iris-lightgbm-margin"])["total"]["values"]
    probabilities = interactions(answers["iris-lightgbm"])["total"]["values"]
    assert all(score < p / 2 for score, p in zip(scores, probabilities, strict=True))


def test_linear_model_has_no_interaction_of_any_kind(answers: Answers) -> None:
    linear = interactions(answers["iris-linear"])
    found = [linear["total"], *linear["overall"], *linear["pairwise"], *linear["threeway"]]
    assert len(found) == 1 + 4 + 6 + 1
    assert {number for entry in found for number in entry["numerators"]} == {0.0}


def test_importance_of_correlated_features_can_exceed_one(answers: Answers) -> None:
    assert numbers(answers["iris-linear"], "importance", "share")["petal_length"][0] > 1
