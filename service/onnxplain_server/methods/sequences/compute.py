"""Exact sequence importances, by recursion: for scores that are sums of string weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.core.warnings import MethodWarning
from onnxplain_server.methods.sequences.background import MarkovChain
from onnxplain_server.methods.sequences.kmers import mismatches, text_of
from onnxplain_server.methods.sequences.options import Options
from onnxplain_server.methods.sequences.poim import Poim, Weights
from onnxplain_server.methods.sequences.result import Kmers, MismatchClass, Motif, Result, TopKmer


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """Setting of an explanation: distribution and length of sequences, names of scores.

    Attributes
    ----------
    length : int
        Length of the sequences.
    """

    background: MarkovChain
    length: int
    output_names: tuple[str, ...]


def from_weights(
    weights: Sequence[Weights],
    setting: Setting,
    options: Options,
    step: Callable[[], None],
) -> Result:
    """Compute all matrices and motifs by recursion.

    Parameters
    ----------
    weights : sequence of Weights
        One per output.
    step : callable () -> None
        Called regularly; raises if the request is cancelled.
    """
    poims = [Poim(of_output, setting.background) for of_output in weights]
    kmers = []
    for k in range(1, options.max_length + 1):
        step()
        kmers.append(_kmers(poims, k))
    motifs = [_motif(text, poims, weights, options.alphabet, step) for text in options.motifs]
    return Result(
        setting.output_names,
        options.alphabet,
        setting.length,
        True,
        setting.background,
        np.array([poim.mean for poim in poims]),
        np.array([poim.deviation for poim in poims]),
        tuple(kmers),
        strongest(kmers, options),
        tuple(motifs),
        (),
    )


def _kmers(poims: Sequence[Poim], k: int) -> Kmers:
    columns = [list(poim.columns(k)) for poim in poims]
    differences = np.array([[c.differences for c in row] for row in columns])
    importances = np.array([[c.importances for c in row] for row in columns])
    return Kmers(k, differences.transpose(2, 1, 0), importances.transpose(2, 1, 0), None)


def strongest(kmers: Sequence[Kmers], options: Options) -> tuple[TopKmer, ...]:
    """Return the strings at positions with the largest absolute importance, per output."""
    top: list[TopKmer] = []
    for output in range(kmers[0].importances.shape[2] if kmers else 0):
        of_output = [
            TopKmer(
                text_of(int(code), matrix.length, options.alphabet),
                int(position),
                output,
                float(matrix.differences[code, position, output]),
                float(matrix.importances[code, position, output]),
            )
            for matrix in kmers
            for code, position in _largest(matrix.importances[:, :, output], options.top_count)
        ]
        of_output.sort(key=lambda kmer: -abs(kmer.importance))
        top += of_output[: options.top_count]
    return tuple(top)


def _largest(importances: Matrix, count: int) -> list[tuple[int, int]]:
    """Return the (code, position) of the largest absolute values."""
    sizes = np.abs(np.nan_to_num(importances)).ravel()
    order = np.argsort(-sizes, kind="stable")[:count]
    codes, positions = np.unravel_index(order, importances.shape)
    return list(zip(codes.tolist(), positions.tolist(), strict=True))


def _motif(
    text: str,
    poims: Sequence[Poim],
    weights: Sequence[Weights],
    alphabet: str,
    step: Callable[[], None],
) -> Motif:
    """Average over the strings with equal numbers of mismatches, position by position."""
    k, size = len(text), len(alphabet)
    mismatch_counts = mismatches([alphabet.index(letter) for letter in text], size)
    positions = weights[0].length - k + 1
    # Means and standard deviations: (statistic, position, mismatches, output).
    means, deviations = (np.zeros((3, positions, k + 1, len(poims))) for _ in range(2))
    for position in range(positions):
        step()
        for output, poim in enumerate(poims):
            column = poim.column(k, position)
            raw = _raw_weights(weights[output], k, position, size)
            for statistic, numbers in enumerate((column.differences, column.importances, raw)):
                mean, deviation = _by_class(numbers, mismatch_counts, k)
                means[statistic, position, :, output] = mean
                deviations[statistic, position, :, output] = deviation
    has_weights = any(len(of_output.tables) >= k for of_output in weights)
    counts = np.bincount(mismatch_counts, minlength=k + 1)
    return Motif(
        text,
        tuple(
            MismatchClass(
                count,
                int(counts[count]),
                means[0, :, count],
                means[1, :, count],
                deviations[0, :, count],
                deviations[1, :, count],
                means[2, :, count] if has_weights else None,
                deviations[2, :, count] if has_weights else None,
            )
            for count in range(k + 1)
        ),
    )


def _raw_weights(weights: Weights, k: int, position: int, size: int) -> Vector:
    """Return the weights of the strings of `k` letters; 0 if the score has none of that length."""
    if k > len(weights.tables):
        return np.zeros(size**k)
    row: Vector = weights.tables[k - 1][position]
    return row


def _by_class(numbers: Vector, mismatch_counts: Indices, k: int) -> tuple[Vector, Vector]:
    """Return means and standard deviations by number of mismatches, without impossible strings."""
    occurs = np.isfinite(numbers)
    counts = np.bincount(mismatch_counts[occurs], minlength=k + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.bincount(mismatch_counts[occurs], numbers[occurs], k + 1) / counts
        squares = np.bincount(
            mismatch_counts[occurs], (numbers[occurs] - means[mismatch_counts[occurs]]) ** 2, k + 1
        )
        return means, np.sqrt(squares / counts)


def sampled_note(count: int) -> Note:
    """Return the note that importances are estimated from sampled sequences."""
    return Note(
        MethodWarning.SEQUENCES_SAMPLED,
        "The score is not a sum of weights of single letters, so importances are estimated from "
        f"{count:,} sequences sampled from the background, with standard errors; raise "
        "sample_count to reduce these.",
    )
