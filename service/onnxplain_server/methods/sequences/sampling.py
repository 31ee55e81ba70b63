"""Monte Carlo sequence importances: estimates from sampled sequences, for any score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.core.warnings import MethodWarning
from onnxplain_server.methods.sequences.compute import Setting, sampled_note, strongest
from onnxplain_server.methods.sequences.kmers import mismatches, windows
from onnxplain_server.methods.sequences.options import Options
from onnxplain_server.methods.sequences.result import Kmers, MismatchClass, Motif, Result

Score: TypeAlias = Callable[[Array], Matrix]
"""Function from sequences, (n, length) codes of letters, to scores, (n, n_outputs)."""

MIN_SEQUENCES = 20
"""Least number of sequences with a string, and without it, for its standard error."""
_MAX_MISMATCHES = 2
"""Largest Hamming distance to a motif that is examined, besides its full length."""


def planted_count(options: Options) -> int:
    """Return the number of planted sequences per position and number of mismatches."""
    return max(50, options.sample_count // 100)


def cost(options: Options, length: int) -> int:
    """Return the number of rows to predict."""
    planted = sum(
        2 * planted_count(options) * len(_classes(len(motif))) * (length - len(motif) + 1)
        for motif in options.motifs
    )
    return options.sample_count + planted


def from_samples(score: Score, setting: Setting, options: Options, seed: int) -> Result:
    """Estimate all matrices from one sample, and motifs by planting them into sequences.

    Parameters
    ----------
    score : Score
        Called once for the sample, and once for each position of a motif.
    """
    random = np.random.default_rng([seed, 7])
    letters = setting.background.sample(options.sample_count, setting.length, random)
    scores = score(letters)
    mean, deviation = scores.mean(axis=0), scores.std(axis=0)
    kmers = [
        _kmers(letters, scores - mean, k, len(options.alphabet))
        for k in range(1, options.max_length + 1)
    ]
    motifs = [_motif(text, score, mean, setting, options, random) for text in options.motifs]
    return Result(
        setting.output_names,
        options.alphabet,
        setting.length,
        False,
        setting.background,
        mean,
        deviation,
        tuple(kmers),
        strongest(kmers, options),
        tuple(motifs),
        (sampled_note(options.sample_count), *_few_note(kmers)),
    )


def _few_note(kmers: Sequence[Kmers]) -> tuple[Note, ...]:
    """Warn of strings at positions without a standard error."""
    unknown = [np.isnan(k.standard_errors[:, :, 0]) for k in kmers if k.standard_errors is not None]
    count, total = sum(int(u.sum()) for u in unknown), sum(u.size for u in unknown)
    if not count:
        return ()
    message = (
        f"{count:,} of {total:,} strings at positions were present in, or absent from, fewer than "
        f"{MIN_SEQUENCES} of the sampled sequences, too few for a standard error: it is NaN, and "
        "the difference may be far off. Raise sample_count, or lower max_length."
    )
    return (Note(MethodWarning.FEW_ROWS, message),)


def _kmers(letters: Array, scores: Matrix, k: int, size: int) -> Kmers:
    """Average the scores of the sequences with each string, over the whole sample."""
    codes = windows(letters, k, size)
    columns = [_column(codes[:, place], scores, size**k) for place in range(codes.shape[1])]
    differences, importances, errors = (
        np.stack([column[part] for column in columns], axis=1) for part in range(3)
    )
    return Kmers(k, differences, importances, errors)


def _column(codes: Array, scores: Matrix, count: int) -> tuple[Matrix, Matrix, Matrix]:
    """Return differences, importances and standard errors of all strings at a position."""
    n, counts = len(codes), np.bincount(codes, minlength=count)
    totals, squares = (
        np.asarray([np.bincount(codes, s, count) for s in values.T], np.float64).T
        for values in (scores, scores**2)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        means = totals / counts[:, None]
        odds = np.where((counts > 0) & (counts < n), counts / np.maximum(n - counts, 1), 0.0)
    importances = np.nan_to_num(means) * np.sqrt(odds)[:, None]
    return means, importances, _standard_errors(counts, totals, squares, importances)


def _standard_errors(counts: Array, totals: Array, squares: Array, importances: Matrix) -> Matrix:
    """Return the standard errors of means minus the overall mean: (n_strings, n_outputs).

    The difference is (1 - p) times that between sequences with the string and without it. Both
    means vary, independently, and so does the share p, which adds the squared importance over n
    (delta method). NaN if either group is below `MIN_SEQUENCES`; 0 if all have the string.
    """
    n = counts.sum()
    absent = n - counts
    with_it = _variance_of_mean(counts, totals, squares)
    without = _variance_of_mean(absent, totals.sum(axis=0) - totals, squares.sum(axis=0) - squares)
    variances = ((absent / n) ** 2)[:, None] * (with_it + without) + importances**2 / n
    return np.where((absent == 0)[:, None], 0.0, np.sqrt(variances))


def _variance_of_mean(counts: Array, totals: Array, squares: Array) -> Matrix:
    """Return variances of means; NaN for fewer than `MIN_SEQUENCES` sequences."""
    number = np.where(counts < MIN_SEQUENCES, np.nan, counts)[:, None]
    variances = np.maximum(squares / number - (totals / number) ** 2, 0.0)
    of_mean: Matrix = variances / (number - 1)
    return of_mean


def _classes(k: int) -> list[int]:
    return [*range(min(_MAX_MISMATCHES, k - 1) + 1), k]


def _motif(  # noqa: PLR0917 - score, setting and options of a motif
    text: str,
    score: Score,
    mean: Vector,
    setting: Setting,
    options: Options,
    random: np.random.Generator,
) -> Motif:
    size, k = len(options.alphabet), len(text)
    mismatch_counts = mismatches([options.alphabet.index(letter) for letter in text], size)
    strings = [np.flatnonzero(mismatch_counts == count) for count in _classes(k)]
    probabilities = setting.background.starts(k)
    estimates = []
    for position in range(setting.length - k + 1):
        estimates.append(
            _planted(strings, (position, k), probabilities, score, mean, setting, options, random)
        )
        probabilities = setting.background.moved(probabilities)
    # (class, position, statistic, output)
    numbers = np.moveaxis(np.array(estimates), 1, 0)
    classes = zip(_classes(k), strings, numbers, strict=True)
    return Motif(text, tuple(_mismatch_class(n, len(codes), own) for n, codes, own in classes))


def _mismatch_class(count: int, kmer_count: int, numbers: Array) -> MismatchClass:
    """Unpack the statistics of a class: (n_positions, n_statistics, n_outputs)."""
    differences, importances, spreads, importance_spreads = np.moveaxis(numbers, 1, 0)
    if kmer_count == 1:
        spreads, importance_spreads = np.zeros_like(spreads), np.zeros_like(importance_spreads)
    return MismatchClass(
        mismatch_count=count,
        kmer_count=kmer_count,
        differences=differences,
        importances=importances,
        difference_deviations=spreads,
        importance_deviations=importance_spreads,
        weights=None,
        weight_deviations=None,
    )


def _planted(  # noqa: PLR0917 - score, setting and options of a position
    strings: list[Array],
    place: tuple[int, int],
    probabilities: Vector,
    score: Score,
    mean: Vector,
    setting: Setting,
    options: Options,
    random: np.random.Generator,
) -> Array:
    """Score sequences with strings of each class planted: (n_classes, 4, n_outputs).

    Each string is planted into two sequences, so that the covariance of their scores estimates
    the variance between strings, without that between sequences. `place` is (position, number
    of letters).
    """
    rows, (position, k) = planted_count(options), place
    planted = np.concatenate([random.choice(codes, rows) for codes in strings])
    letters = _letters(np.tile(planted, 2), k, setting.background.size)
    sequences = setting.background.sample_around(letters, position, setting.length, random)
    # (copy, class, row, output)
    scores = (score(sequences) - mean).reshape(2, len(strings), rows, -1)
    p = probabilities[planted].reshape(len(strings), rows, 1)
    factor = np.sqrt(p / np.maximum(1 - p, 1e-300))
    differences, importances = scores, scores * factor
    return np.stack(
        [
            differences.mean(axis=(0, 2)),
            importances.mean(axis=(0, 2)),
            _common_deviation(differences),
            _common_deviation(importances),
        ],
        axis=1,
    )


def _common_deviation(pairs: Array) -> Matrix:
    """Return the standard deviation common to two copies: (2, n_classes, rows, n_outputs)."""
    centered = pairs - pairs.mean(axis=2, keepdims=True)
    covariance = (centered[0] * centered[1]).mean(axis=1)
    deviation: Matrix = np.sqrt(np.maximum(covariance, 0.0))
    return deviation


def _letters(codes: Array, k: int, size: int) -> Array:
    """Decode strings to letters: (n, k)."""
    places = size ** np.arange(k - 1, -1, -1)
    letters: Array = (codes[:, None] // places % size).astype(np.int8)
    return letters
