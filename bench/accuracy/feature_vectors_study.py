"""Studies of the feature vectors paper, repeated: explained variance, stability, knockoffs.

python -m bench.accuracy.feature_vectors_study STUDY [SENTENCES] [TABLE]...

STUDY is explained-variance, diagonal, stability or knockoffs; knockoffs has no TABLE.
Figure 2 is in synonyms.py, and Section 3.4 in importance_curves.py. Figures are in
docs/studies/feature-vectors.md.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.methods.feature_vectors import (
    Growth,
    Knockoffs,
    Options,
    PathSource,
    Result,
    Rule,
    TrainingData,
    from_training_data,
)
from onnxplain_server.methods.feature_vectors.geometry import between, difference
from onnxplain_server.methods.feature_vectors.stability import align
from scipy.stats import rankdata

from bench.shared import tables
from bench.shared.tables import Table

PAPER = {
    "breast cancer": 87,
    "Spambase": 86,
    "Wine Quality, red": 98,
    "Wine Quality, white": 98,
    "Parkinson": 99,
    "Adult": 92,
    "Bank Marketing": 98,
}
"""Explained variance in percent, by Table A1."""
BUNDLED = ("iris", "wine", "diabetes", "breast cancer", "digits")
"""Tables that come with scikit-learn."""
KEPT = Path(__file__).parents[2] / "build/stability"
"""Where runs are kept, so that a study can be ended and taken up again."""
_POOL = ThreadPoolExecutor(2)


def run(function: Callable[[Any], Any], parts: Iterable[Any]) -> list[Any]:
    return list(_POOL.map(function, parts))


def vectors(data: Table, growth: Growth, seed: int = 0, **more: Any) -> Result:
    options = Options(PathSource.LABELS, data.names, growth=growth, **more)
    target = data.target if data.is_classes else data.target[:, None]
    lesson = TrainingData(data.columns, None, target, data.is_classes, np.ones(len(target)))
    return from_training_data(options, lesson, seed, run)


def explained_variance(sentence_count: int, names: Sequence[str]) -> None:
    """Table A1."""
    for name in names or PAPER:
        start = time.perf_counter()
        found = vectors(tables.load(name), Growth(sentence_count))
        shares = found.embedding.variance_ratio, found.embedding.energy_ratio
        depth = found.fit.depth if found.fit else 0
        print(
            f"{name}: variance {shares[0]:.1%}, energy {shares[1]:.1%}, paper {PAPER[name]} %, "
            f"depth {depth}, {time.perf_counter() - start:.0f} s",
            flush=True,
        )
        if name == "Adult":
            _education(found)


def with_diagonal(sentence_count: int, names: Sequence[str]) -> None:
    """Table A1 as it comes out where features beside themselves count, at the package's depth."""
    for name in names or PAPER:
        growth, data = Growth(sentence_count, 3), tables.load(name)
        both = [vectors(data, growth, rule=Rule(fill_diagonal=fill)) for fill in (False, True)]
        shares = [found.embedding.variance_ratio for found in both]
        print(f"{name}: {shares[0]:.1%}, with the diagonal {shares[1]:.1%}, paper {PAPER[name]} %",
              flush=True)  # fmt: skip


def _education(found: Result) -> None:
    """Education as text and as a number: near in angle, and the text longer."""
    text, number = (found.features.index(n) for n in ("education", "education_num"))
    apart = between(found.embedding.vectors)
    nearer = int((apart[text] < apart[text, number]).sum()) - 1  # itself is nearest
    print(
        f"education and its number: {apart[text, number]:.1f} degrees apart, {nearer} nearer; "
        f"lengths {found.norms[text]:,.0f} and {found.norms[number]:,.0f}"
    )


def stable(sentence_count: int, names: Sequence[str], run_count: int = 10) -> None:
    """Section 3.4: ten runs, and the mean over tables."""
    told = []
    for name in names or BUNDLED:
        found = [_run_of(name, sentence_count, seed) for seed in range(run_count)]
        told.append(spread(found))
        _tell_spread(name, told[-1])
    _tell_spread("mean", np.mean(told, axis=0))


def _run_of(name: str, sentence_count: int, seed: int) -> Matrix:
    """Compute vectors of one run, or take those of a study that was ended."""
    file = KEPT / f"{name.replace(' ', '-')}-{sentence_count}-{seed}.npy"
    if not file.exists():
        KEPT.mkdir(parents=True, exist_ok=True)
        found = vectors(tables.load(name), Growth(sentence_count), seed)
        np.save(file, found.embedding.vectors)
    return np.asarray(np.load(file))


def spread(found: Sequence[Matrix]) -> Vector:
    """Spearman's correlation of lengths, mean range of angles, mean range of lengths."""
    turned = np.array([align(one, found[0]) for one in found])
    used = (turned != 0).any(axis=(0, 2))
    lengths = np.linalg.norm(turned, axis=2)
    lengths /= lengths.max(axis=1, keepdims=True)
    ranks = rankdata(lengths, axis=1)
    rank = np.corrcoef(ranks)[np.triu_indices(len(found), 1)].mean()
    angles = np.degrees(np.arctan2(turned[..., 1], turned[..., 0]))[:, used]
    moved = np.ptp(difference(angles, angles[0]), axis=0)
    ranges = np.ptp(lengths[:, used], axis=0) / lengths[:, used].max(axis=0)
    return np.array([rank, moved.mean(), ranges.mean()])


def _tell_spread(name: str, told: Vector) -> None:
    print(
        f"{name}: Spearman {told[0]:.3f} (paper .984), angle range {told[1]:.1f} (5.2), "
        f"norm range {told[2]:.1%} (15.5 %)",
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


def knockoffs(sentence_count: int, seed_count: int = 10) -> None:
    """Section 3.3, on the mixture; then on two real tables."""
    for seed in range(seed_count):
        values, target = mixture(seed)
        names = tuple(f"x{j + 1}" for j in range(values.shape[1]))
        growth, wanted = Growth(sentence_count, 6), Knockoffs(component_count=3)
        found = vectors(Table(names, tuple(values.T), target), growth, seed, knockoffs=wanted)
        _tell_knockoffs(f"mixture, seed {seed}", found)
    for name in ("wine", "breast cancer"):
        found = vectors(tables.load(name), Growth(sentence_count), knockoffs=Knockoffs())
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
    count = int(more.pop(0)) if more and more[0].isdigit() else 100_000
    match study:
        case "explained-variance":
            explained_variance(count, more)
        case "diagonal":
            with_diagonal(count, more)
        case "stability":
            stable(count, more)
        case "knockoffs":
            knockoffs(count)
        case _:
            raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
