"""Importances of strings at positions from sampled sequences: for any score."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.methods.sequences.compute import Setting, sampled_note, strongest
from onnxplain_server.methods.sequences.kmers import mismatches, windows
from onnxplain_server.methods.sequences.options import Options
from onnxplain_server.methods.sequences.result import Kmers, MismatchClass, Motif, Result

Score: TypeAlias = Callable[[Array], Matrix]
"""Sequences, (n, length) numbers of letters, to scores, (n, n_outputs)."""

MIN_SEQUENCES = 20
"""Sequences with a string, and without it, from which its standard error can be told."""
_NEAR = 2
"""Mismatches up to which strings are looked at, beside those that agree nowhere."""


def motif_rows(options: Options) -> int:
    """Sequences in which strings are planted, for each position and number of mismatches."""
    return max(50, options.sample_count // 100)


def cost(options: Options, length: int) -> int:
    """Return the rows to predict."""
    planted = sum(
        2 * motif_rows(options) * len(_classes(len(motif))) * (length - len(motif) + 1)
        for motif in options.motifs
    )
    return options.sample_count + planted


def from_samples(score: Score, setting: Setting, options: Options, seed: int) -> Result:
    """Estimate all matrices from one sample, and motifs by planting them.

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
    """Say of how many strings at positions there is no standard error."""
    unknown = [
        np.isnan(one.standard_errors[:, :, 0]) for one in kmers if one.standard_errors is not None
    ]
    count, of = sum(int(one.sum()) for one in unknown), sum(one.size for one in unknown)
    if not count:
        return ()
    message = (
        f"{count:,} of {of:,} strings at positions were held, or lacked, by fewer than "
        f"{MIN_SEQUENCES} of the sampled sequences, which is too few for a standard error: it is "
        "NaN, and the difference may be far off. Raise sample_count, or lower max_length."
    )
    return (Note("FEW_ROWS", message),)


def _kmers(letters: Array, scores: Matrix, k: int, size: int) -> Kmers:
    """Average the scores of the sequences that hold each string: exact for this sample."""
    codes = windows(letters, k, size)
    columns = [_column(codes[:, place], scores, size**k) for place in range(codes.shape[1])]
    differences, importances, errors = (
        np.stack([column[part] for column in columns], axis=1) for part in range(3)
    )
    return Kmers(k, differences, importances, errors)


def _column(codes: Array, scores: Matrix, count: int) -> tuple[Matrix, Matrix, Matrix]:
    """Differences, importances and standard errors of all strings at a position."""
    n, found = len(codes), np.bincount(codes, minlength=count)
    totals, squares = (
        np.asarray([np.bincount(codes, s, count) for s in values.T], np.float64).T
        for values in (scores, scores**2)
    )
    with np.errstate(invalid="ignore", divide="ignore"):
        means = totals / found[:, None]
        odds = np.where((found > 0) & (found < n), found / np.maximum(n - found, 1), 0.0)
    importances = np.nan_to_num(means) * np.sqrt(odds)[:, None]
    return means, importances, _standard_errors(found, totals, squares, importances)


def _standard_errors(found: Array, totals: Array, squares: Array, importances: Matrix) -> Matrix:
    """Standard errors of means minus the mean of all: (n_strings, n_outputs).

    That difference is (1 - p) times the one between sequences with the string and without it.
    Both means vary, independently, and so does the share p, which adds the importance's square
    over n (delta method). NaN where either are a handful; 0 where all have the string.
    """
    n = found.sum()
    lacking = n - found
    with_it = _variance_of_mean(found, totals, squares)
    without = _variance_of_mean(lacking, totals.sum(axis=0) - totals, squares.sum(axis=0) - squares)
    variances = ((lacking / n) ** 2)[:, None] * (with_it + without) + importances**2 / n
    return np.where((lacking == 0)[:, None], 0.0, np.sqrt(variances))


def _variance_of_mean(counts: Array, totals: Array, squares: Array) -> Matrix:
    """Variances of means, NaN where fewer than `MIN_SEQUENCES` sequences were averaged."""
    number = np.where(counts < MIN_SEQUENCES, np.nan, counts)[:, None]
    variances = np.maximum(squares / number - (totals / number) ** 2, 0.0)
    found: Matrix = variances / (number - 1)
    return found


def _classes(k: int) -> list[int]:
    return [*range(min(_NEAR, k - 1) + 1), k]


def _motif(  # noqa: PLR0917 - all that a motif needs
    text: str,
    score: Score,
    mean: Vector,
    setting: Setting,
    options: Options,
    random: np.random.Generator,
) -> Motif:
    size, k = len(options.alphabet), len(text)
    apart = mismatches([options.alphabet.index(letter) for letter in text], size)
    strings = [np.flatnonzero(apart == count) for count in _classes(k)]
    probabilities = setting.background.starts(k)
    found = []
    for position in range(setting.length - k + 1):
        found.append(
            _planted(strings, (position, k), probabilities, score, mean, setting, options, random)
        )
        probabilities = setting.background.moved(probabilities)
    # (position, class, kind of number, output)
    numbers = np.array(found)
    classes = zip(_classes(k), strings, np.moveaxis(numbers, 1, 0), strict=True)
    return Motif(text, tuple(_mismatched(count, len(codes), of) for count, codes, of in classes))


def _mismatched(count: int, kmer_count: int, numbers: Array) -> MismatchClass:
    """Take numbers apart: (n_positions, kinds, n_outputs)."""
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


def _planted(  # noqa: PLR0917 - all that a position needs
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

    Each string is planted into two sequences, so that the covariance of their scores is the
    variance of what the strings do, without that of the sequences. `place` is the position,
    and the number of letters.
    """
    rows, (position, k) = motif_rows(options), place
    drawn = [random.choice(codes, rows) for codes in strings]
    planted = np.concatenate(drawn)
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
            _shared(differences),
            _shared(importances),
        ],
        axis=1,
    )


def _shared(pairs: Array) -> Matrix:
    """Standard deviation of what two copies share: (2, n_classes, rows, n_outputs)."""
    centered = pairs - pairs.mean(axis=2, keepdims=True)
    covariance = (centered[0] * centered[1]).mean(axis=1)
    deviation: Matrix = np.sqrt(np.maximum(covariance, 0.0))
    return deviation


def _letters(codes: Array, k: int, size: int) -> Array:
    """Write numbers of strings as letters: (n, k)."""
    places = size ** np.arange(k - 1, -1, -1)
    letters: Array = (codes[:, None] // places % size).astype(np.int8)
    return letters
