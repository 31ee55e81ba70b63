"""The studies of the paper again: explained variance, stability, exchangeable pairs, knockoffs.

    bench/feature_vectors_study.py explained-variance DATA [SENTENCES]
    bench/feature_vectors_study.py stability|pairs|knockoffs [SENTENCES]

DATA is a folder with the tables of the paper that are not bundled with scikit-learn, as CSV files
with the target in the last column. Figures are in docs/methods/feature-vectors.md.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.csv as arrow_csv
from onnxplain_server.arrays import Array, Matrix
from onnxplain_server.methods.feature_vectors import (
    Growth,
    Knockoffs,
    Lesson,
    Options,
    Result,
    Source,
    of_lesson,
)
from onnxplain_server.methods.feature_vectors.reading import between, difference
from onnxplain_server.methods.feature_vectors.stability import align
from sklearn import datasets

_ROWS = 10_000
_POOL = ThreadPoolExecutor(2)


class Data(NamedTuple):
    """A table: columns, and a target of numbers or of classes."""

    names: tuple[str, ...]
    columns: tuple[Array, ...]
    target: Array


def run(function: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
    return list(_POOL.map(function, parts))


def bundled(name: str) -> Data:
    found = getattr(datasets, f"load_{name}")()
    target = found.target if name == "diabetes" else found.target.astype(str)
    names = tuple(map(str, found.feature_names))
    return Data(names, tuple(found.data.T), target)


def read(path: Path, *, classes: bool, without: tuple[str, ...] = ()) -> Data:
    table = arrow_csv.read_csv(path)
    names = [name for name in table.column_names[:-1] if name not in without]
    columns = [table[name].to_numpy() for name in names]
    columns = [
        np.array(["" if v is None else str(v) for v in column], dtype=object)
        if column.dtype == object
        else column.astype(float)
        for column in columns
    ]
    target = table[table.column_names[-1]].to_numpy()
    chosen = np.sort(np.random.default_rng(0).permutation(len(target))[:_ROWS])
    target = target.astype(str) if classes else target.astype(float)
    return Data(tuple(names), tuple(c[chosen] for c in columns), target[chosen])


def vectors(data: Data, growth: Growth, seed: int = 0, **more: Any) -> Result:
    options = Options(Source.LABELS, data.names, growth=growth, **more)
    is_classes = data.target.dtype.kind in "OU"
    target = data.target if is_classes else data.target[:, None]
    lesson = Lesson(data.columns, None, target, is_classes, np.ones(len(target)))
    return of_lesson(options, lesson, seed, run)


def explained_variance(folder: Path, sentence_count: int) -> None:
    """Table A1."""

    def table(name: str, *, classes: bool = False, without: tuple[str, ...] = ()) -> Data:
        return read(folder / name, classes=classes, without=without)

    tables: dict[tuple[str, int], Callable[[], Data]] = {
        ("breast cancer", 87): lambda: bundled("breast_cancer"),
        ("Spambase", 86): lambda: table("spambase.csv.gz", classes=True),
        ("Wine Quality, red", 98): lambda: table("wine_quality_red.csv"),
        ("Wine Quality, white", 98): lambda: table("wine_quality_white.csv"),
        ("Parkinson", 99): lambda: table("parkinsons_telemonitoring.csv", without=("motor_UPDRS",)),
        ("Adult", 92): lambda: table("adult_train.csv.gz", classes=True),
        ("Bank Marketing", 98): lambda: table("bank_marketing.csv.gz", classes=True),
    }
    for (name, paper), load in tables.items():
        start = time.perf_counter()
        found = vectors(load(), Growth(sentence_count))
        shares = found.embedding.variance_ratio, found.embedding.energy_ratio
        depth = found.fit.depth if found.fit else 0
        print(
            f"{name}: variance {shares[0]:.1%}, energy {shares[1]:.1%}, paper {paper} %, "
            f"depth {depth}, {time.perf_counter() - start:.0f} s",
            flush=True,
        )
        if name == "Adult":
            _education(found)


def _education(found: Result) -> None:
    """Education as text and as a number: near in angle, and the text longer."""
    text, number = (found.features.index(n) for n in ("education", "education_num"))
    apart = between(found.embedding.vectors)
    nearer = int((apart[text] < apart[text, number]).sum()) - 1  # itself is nearest
    print(
        f"education and its number: {apart[text, number]:.1f} degrees apart, {nearer} nearer; "
        f"lengths {found.norms[text]:,.0f} and {found.norms[number]:,.0f}"
    )


def stable(sentence_count: int, run_count: int = 10) -> None:
    """Section 3.4: ten runs."""
    for name in ("wine", "diabetes", "breast_cancer"):
        data = bundled(name)
        found = [vectors(data, Growth(sentence_count), seed) for seed in range(run_count)]
        turned = [align(r.embedding.vectors, found[0].embedding.vectors) for r in found]
        lengths = np.array([r.norms / r.norms.max() for r in found])
        ranks = np.argsort(np.argsort(lengths, axis=1), axis=1)
        rank = np.asarray(np.corrcoef(ranks))[np.triu_indices(run_count, 1)].mean()
        angles = np.degrees([np.arctan2(v[:, 1], v[:, 0]) for v in turned])
        moved = np.ptp(difference(angles, angles[0]), axis=0)
        spread = (np.ptp(lengths, axis=0) / lengths.max(axis=0)).mean()
        print(
            f"{name}: Spearman {rank:.3f} (paper .984), angle range {moved.mean():.1f} (5.2), "
            f"norm range {spread:.1%} (15.5 %)",
            flush=True,
        )


def mixture(seed: int, row_count: int = 2_000, size: int = 20) -> tuple[Matrix, Array]:
    """Three Gaussians in 20 dimensions, neighbors correlated by 0.7; the target from three columns.

    The first three columns, each less its mean, are added up, with noise of half their spread;
    the target is whether that exceeds the median of the sum.
    """
    random = np.random.default_rng(seed)
    means = random.normal(size=(3, size))
    covariance = 0.7 ** np.abs(np.subtract.outer(np.arange(size), np.arange(size)))
    component = random.integers(0, 3, row_count)
    values = means[component] + random.multivariate_normal(np.zeros(size), covariance, row_count)
    told = (values[:, :3] - values[:, :3].mean(axis=0)).sum(axis=1)
    noisy = told + random.normal(0, told.std() / 2, row_count)
    return values, (noisy > np.median(told)) * 1.0


PAIRS = ((0, 1), (2, 3), (4, 5))
_JOINED = ((0, 1, 1.0), (1, 2, 0.6), (0, 2, 0.4))
"""Which pairs act together, and how strongly: unlike strengths give each its own direction."""


def paired(seed: int, row_count: int = 20_000, size: int = 20) -> tuple[Matrix, Array]:
    """Independent normal columns, of which the first six are three pairs of synonyms.

    For each feature of a pair and each of another there is an expression of thresholds,
    (x > 0 and z > 0) or (x < 0 and z < 0); the more of them are true, by weight, the likelier is
    class 1. Such expressions have no main effects, so that synonyms seldom follow each other on a
    path.
    """
    random = np.random.default_rng(seed)
    values = random.normal(size=(row_count, size))
    above = values > 0
    told = np.zeros(row_count)
    for first, second, weight in _JOINED:
        true = [above[:, i] == above[:, j] for i in PAIRS[first] for j in PAIRS[second]]
        told += weight * np.mean(true, axis=0)
    return values, (told + random.normal(0, 0.02, row_count) > 1.0) * 1.0


def pairs(sentence_count: int, seed_count: int = 3) -> None:
    """Figure 2: angles within pairs, and the smallest across them."""
    for seed in range(seed_count):
        values, target = paired(seed)
        names = tuple(f"x{j + 1}" for j in range(values.shape[1]))
        found = vectors(Data(names, tuple(values.T), target), Growth(sentence_count, 7), seed)
        apart = between(found.embedding.vectors)
        within = [apart[pair] for pair in PAIRS]
        across = [apart[i, j] for i in range(6) for j in range(i) if i // 2 != j // 2]
        correlation = np.abs(np.asarray(np.corrcoef(values[:, :6], rowvar=False)))
        print(
            f"seed {seed}: within pairs {within[0]:.1f}, {within[1]:.1f}, {within[2]:.1f} degrees; "
            f"across at least {min(across):.1f}; largest correlation of columns "
            f"{(correlation - np.eye(6)).max():.3f}",
            flush=True,
        )


def knockoffs(sentence_count: int, seed_count: int = 10) -> None:
    """Section 3.3, on the mixture; then on two real tables."""
    for seed in range(seed_count):
        values, target = mixture(seed)
        names = tuple(f"x{j + 1}" for j in range(values.shape[1]))
        growth, wanted = Growth(sentence_count, 6), Knockoffs(component_count=3)
        found = vectors(Data(names, tuple(values.T), target), growth, seed, knockoffs=wanted)
        _tell_knockoffs(f"mixture, seed {seed}", found)
    for name in ("wine", "breast_cancer"):
        found = vectors(bundled(name), Growth(sentence_count), knockoffs=Knockoffs())
        _tell_knockoffs(name, found)


def _tell_knockoffs(name: str, found: Result) -> None:
    check = found.knockoff_check
    if check is None:
        return
    longer = int((check.norms > check.knockoff_norms)[:3].sum())
    print(
        f"{name}: p {check.p_value:.4f}, {check.mean_angle_degrees:.1f} degrees apart, chance "
        f"{check.permuted_mean_angles_degrees.mean():.1f}; of the first three {longer} longer",
        flush=True,
    )


def main() -> None:
    study, *more = sys.argv[1:]
    count = int(more[-1]) if more and more[-1].isdigit() else 100_000
    match study:
        case "explained-variance":
            explained_variance(Path(more[0]), count)
        case "stability":
            stable(count)
        case "pairs":
            pairs(count)
        case "knockoffs":
            knockoffs(count)
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
