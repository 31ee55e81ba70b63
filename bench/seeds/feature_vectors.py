"""Results of the feature vectors paper's figures, table and printed numbers, by onnxplain.

    python -m bench.seeds.feature_vectors [KEY]...

KEY is one of MAKERS; all without one. `published_plots` sums up what published_plots.py keeps,
which needs files from elsewhere; all else is computed from tables of scikit-learn and bench/data.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import onnxplain
from onnxplain_server.methods.feature_vectors import Growth, Knockoffs, Rule
from onnxplain_server.methods.feature_vectors import Result as Vectors
from onnxplain_server.methods.feature_vectors.geometry import between
from scipy.stats import spearmanr

from bench.accuracy import feature_vectors_study as study
from bench.accuracy import importance_curves, synonyms
from bench.seeds.drawing import draw
from bench.seeds.kept import Result, keep
from bench.seeds.published_plots import LABELS, RESULTS, balanced
from bench.shared import tables
from bench.shared.tables import Table
from bench.speed import feature_vectors as speed

_POOL = ThreadPoolExecutor(os.cpu_count())
_QUARTILES = {"lower quartile": 0.25, "median": 0.5, "upper quartile": 0.75}
_FIGURE_5 = ("breast cancer",)
_FIGURE_A1 = ("Spambase",)


def _run(function: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
    return list(_POOL.map(function, parts))


def figure_2() -> Result:
    """Three pairs of synonyms among twenty independent columns, and the paper's own example."""
    weak = [synonyms.weak_effects(seed) for seed in range(3)]
    found = [
        synonyms.found(_synonyms(table, 6_400, 2, seed).embedding.vectors)
        for seed, table in enumerate(weak)
    ]
    literal = _synonyms(synonyms.literal(0), 6_400, 3, 0)
    baselines = [synonyms.by_covariance, synonyms.by_point_biserial]
    return Result(
        values={
            "pairs found, seeds": float(sum(one.holds for one in found)),
            "largest angle within": max(max(one.within) for one in found),
            "smallest angle across": min(one.across for one in found),
        },
        claims={
            "pairs": all(one.holds for one in found),
            "literal": synonyms.found(literal.embedding.vectors).holds,
            "covariances": not any(
                synonyms.found(make(table)).holds for make in baselines for table in weak
            ),
        },
        seed=0,
        rows="20,000 rows of 20 independent normal columns, 6,400 sentences of depth 2; 3 seeds",
    )


def _synonyms(table: synonyms.Table, count: int, depth: int, seed: int) -> Vectors:
    return synonyms.feature_vectors(table, count, depth, seed, _run)


def figure_3() -> Result:
    """Adult: the longest vectors, and education beside its number."""
    table = balanced(tables.load("Adult"), 0)
    columns = dict(zip(table.names, table.columns, strict=True)) | {"income": table.target}
    with onnxplain.local() as client:
        answer = client.explain(
            None,
            columns,
            onnxplain.FeatureVectors(source="LABELS"),
            target_column="income",
        )
    draw(answer, "feature-vectors", "seeds-adult.png")
    found = answer.feature_vectors
    names, lengths = list(found.features), np.asarray(found.relative_norms)
    apart = between(np.asarray(found.vectors))
    order = [names[i] for i in np.argsort(-lengths)]
    text, number = names.index("education"), names.index("education_num")
    nearest = [names[i] for i in np.argsort(apart[text]) if i != text]
    return Result(
        values={name: float(length) for name, length in zip(names, lengths, strict=True)}
        | {
            "degrees between education and its number": float(apart[text, number]),
            "features nearer to education": float(nearest.index("education_num")),
        },
        claims={
            "best": {"education", "age", "race"} <= set(order[:4]),
            "education_longer": bool(lengths[text] > lengths[number]),
            "education_near": nearest.index("education_num") <= 1,
        },
        seed=0,
        rows=f"Adult, {len(table.target):,} rows, as many of each class",
    )


def figure_4() -> Result:
    """Knockoffs: of a mixture of three Gaussians, and of two real tables."""
    checks = {}
    for seed in range(5):
        values, target = study.mixture(seed)
        table = Table(tuple(f"x{j + 1}" for j in range(20)), tuple(values.T), target)
        checks[f"mixture {seed}"] = _knockoffs(table, 40_000, 6, seed, 3)
    for name in ("wine", "breast cancer"):
        checks[name] = _knockoffs(tables.load(name), 15_000, None, 0, None)
    mixtures = [check for name, check in checks.items() if name.startswith("mixture")]
    return Result(
        values={f"p, {name}": float(check.p_value) for name, check in checks.items()},
        claims={
            "longer": all((one.norms > one.knockoff_norms)[:3].all() for one in mixtures),
            "nearer": all(
                one.mean_angle_degrees < one.permuted_mean_angles_degrees.mean()
                for one in checks.values()
            ),
            "rejected": all(one.p_value < 0.015 for one in checks.values()),
            "mostly_rejected": sum(one.p_value < 0.015 for one in mixtures) >= 4,
        },
        seed=0,
        rows="2,000 rows of 20 columns for each of 5 seeds; wine; breast cancer",
        packages=("scikit-learn",),
    )


def _knockoffs(
    table: Table, count: int, depth: int | None, seed: int, components: int | None
) -> Any:
    wanted = Knockoffs(component_count=components)
    return study.vectors(table, Growth(count, depth), seed, knockoffs=wanted).knockoff_check


_PRINTED = {
    "Adult Income": "Adult",
    "Spambase": "Spambase",
    "Bank Marketing": "Bank Marketing",
    "Parkinson Telemonitoring": "Parkinson",
    "Wine Quality": "Wine Quality, red",
    "Breast Cancer": "breast cancer",
}


def table_a1() -> Result:
    """Explained variance, by the definition; as many rows of each class."""
    return _explained(Growth(20_000), Rule(), "; as many of each class")


def table_a1_diagonal() -> Result:
    """Explained variance where features beside themselves count, in trees of depth 3."""
    return _explained(Growth(2_000, 3), Rule(fill_diagonal=True), "")


def _explained(growth: Growth, rule: Rule, drawn: str) -> Result:
    shares = {}
    for printed, name in _PRINTED.items():
        table = tables.load(name)
        if drawn and table.is_classes:
            table = balanced(table, 0)
        shares[printed] = study.vectors(table, growth, rule=rule).embedding.variance_ratio
    return Result(
        values=shares,
        claims={"most": all(0.8 <= share <= 0.99 for share in shares.values())},
        seed=0,
        rows="at most 10,000 rows" + drawn,
        packages=("scikit-learn",),
    )


def stability() -> Result:
    """Ten forests for wine: order of lengths, ranges of lengths and angles."""
    table = tables.load("wine")
    grown = [study.vectors(table, Growth(20_000), seed) for seed in range(10)]
    told = study.spread([one.embedding.vectors for one in grown])
    rank, angle, norm = map(float, told)
    return Result(
        values={"Spearman": rank, "degrees": angle, "range of lengths": norm},
        claims={"rank": rank >= 0.984, "angle": angle <= 5.2, "norm": norm <= 0.155},
        seed=0,
        rows="wine; 20,000 sentences",
        packages=("scikit-learn",),
    )


def figure_5() -> Result:
    return _curves(_FIGURE_5)


def figure_a1() -> Result:
    return _curves(_FIGURE_A1)


def _curves(names: Iterable[str]) -> Result:
    """Compare areas under the curves of four rankings: a large SSS and a small SDS are good."""
    values: dict[str, float] = {}
    gaps: dict[str, list[float]] = {"SSS": [], "SDS": []}
    ranks = []
    for name in names:
        curves = importance_curves.curves(name, _run)
        for which, sign in (("SSS", 1), ("SDS", -1)):
            areas = [importance_curves.area(curves[m], which) for m in importance_curves.METHODS]
            values[f"{name}, {which}"] = areas[0]
            values[f"{name}, {which} of the others"] = float(np.mean(areas[1:]))
            gaps[which].append(sign * (areas[0] - float(np.mean(areas[1:]))))
        ranked = importance_curves.ranked(name, _run)
        ranks.append(spearmanr(ranked["feature vectors"], ranked["Gini"]).statistic)
    return Result(
        values=values | {"rank correlation with Gini": float(np.mean(ranks))},
        claims={
            "SSS": float(np.mean(gaps["SSS"])) > -0.01,
            "SDS": float(np.mean(gaps["SDS"])) > -0.02,
            "gini": float(np.mean(ranks)) > 0.8,
        },
        seed=0,
        rows="at most 4,000 rows: half to train, a quarter to rank, a quarter to test",
        packages=("scikit-learn",),
    )


def published_plots() -> Result:
    """Sum up the comparison with the published plots: medians over tables, and of differences."""
    kept = json.loads(RESULTS.read_text(encoding="utf-8"))
    values: dict[str, float] = {"tables": float(len(kept))}
    claims = {}
    for measure in ("lengths", "angles"):
        means = {
            kind: {
                name: float(np.mean([run[measure] for run in one[kind]]))
                for name, one in kept.items()
                if one[kind]
            }
            for kind in LABELS
        }
        for kind, found in means.items():
            values[f"{kind}, {measure}, tables"] = float(len(found))
            for name, share in _QUARTILES.items():
                values[f"{kind}, {measure}, {name}"] = float(np.quantile([*found.values()], share))
        beside = [value - means["package"][name] for name, value in means["settings"].items()]
        values[f"settings less package, {measure}, median"] = float(np.median(beside))
        claims[measure] = float(np.median(beside)) > -0.02
    return Result(
        values=values,
        claims=claims,
        seed=0,
        rows=f"{len(kept)} tables, at most 10,000 rows each, as many of each class",
        packages=("scikit-learn",),
    )


def section_2_4() -> Result:
    """Time of counts and vectors for 50,000 features."""
    paths = speed.forest(1_000_000, 50_000)
    taken = speed.seconds(lambda: speed.ours(paths), 1)
    return Result(
        values={"seconds": taken},
        claims={"seconds": taken <= 30},
        seed=0,
        rows="a million paths of depth 5, not trained",
    )


MAKERS: Mapping[str, Callable[[], Result]] = {
    "figure_2": figure_2,
    "figure_3": figure_3,
    "figure_4": figure_4,
    "figure_5": figure_5,
    "figure_a1": figure_a1,
    "table_a1": table_a1,
    "table_a1_diagonal": table_a1_diagonal,
    "stability": stability,
    "section_2_4": section_2_4,
    "published_plots": published_plots,
}

if __name__ == "__main__":
    keep("feature_vectors", MAKERS)
