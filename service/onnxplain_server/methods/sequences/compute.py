"""Importances of strings at positions, exactly: for scores that are sums of their weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from onnxplain_server.core.arrays import Indices, Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.methods.sequences.background import MarkovChain
from onnxplain_server.methods.sequences.kmers import mismatches, text_of
from onnxplain_server.methods.sequences.options import Options
from onnxplain_server.methods.sequences.poim import Poim, Weights
from onnxplain_server.methods.sequences.result import Kmers, MismatchClass, Motif, Result, TopKmer


@dataclass(frozen=True, slots=True, eq=False)
class Setting:
    """What sequences are like, and the names of the scores.

    Attributes
    ----------
    length : int
        Of the sequences.
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
        Called now and then; raises where the answer is no longer wanted.
    """
    poims = [Poim(one, setting.background) for one in weights]
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
    differences = np.array([[c.differences for c in one] for one in columns])
    importances = np.array([[c.importances for c in one] for one in columns])
    return Kmers(k, differences.transpose(2, 1, 0), importances.transpose(2, 1, 0), None)


def strongest(kmers: Sequence[Kmers], options: Options) -> tuple[TopKmer, ...]:
    """Choose strings at positions by the size of their importance, for each output."""
    found = []
    for output in range(kmers[0].importances.shape[2] if kmers else 0):
        of_output = [
            TopKmer(
                text_of(int(code), one.length, options.alphabet),
                int(position),
                output,
                float(one.differences[code, position, output]),
                float(one.importances[code, position, output]),
            )
            for one in kmers
            for code, position in _largest(one.importances[:, :, output], options.top_count)
        ]
        of_output.sort(key=lambda top: -abs(top.importance))
        found += of_output[: options.top_count]
    return tuple(found)


def _largest(importances: Matrix, count: int) -> list[tuple[int, int]]:
    """Find the largest numbers by their size: (code, position) each."""
    sizes = np.abs(np.nan_to_num(importances)).ravel()
    kept = np.argsort(-sizes, kind="stable")[:count]
    codes, positions = np.unravel_index(kept, importances.shape)
    return list(zip(codes.tolist(), positions.tolist(), strict=True))


def _motif(
    text: str,
    poims: Sequence[Poim],
    weights: Sequence[Weights],
    alphabet: str,
    step: Callable[[], None],
) -> Motif:
    """Average over the strings of each number of mismatches, position by position."""
    k, size = len(text), len(alphabet)
    apart = mismatches([alphabet.index(letter) for letter in text], size)
    positions = weights[0].length - k + 1
    # (kind of number, position, mismatches, output), means and standard deviations
    means, deviations = (np.zeros((3, positions, k + 1, len(poims))) for _ in range(2))
    for position in range(positions):
        step()
        for output, poim in enumerate(poims):
            column = poim.column(k, position)
            raw = _raw(weights[output], k, position, size)
            for kind, numbers in enumerate((column.differences, column.importances, raw)):
                mean, deviation = _by_class(numbers, apart, k)
                means[kind, position, :, output] = mean
                deviations[kind, position, :, output] = deviation
    has_weights = any(len(one.tables) >= k for one in weights)
    counts = np.bincount(apart, minlength=k + 1)
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


def _raw(weights: Weights, k: int, position: int, size: int) -> Vector:
    """Weights of the very strings of `k` letters; 0 where the score has none so long."""
    if k > len(weights.tables):
        return np.zeros(size**k)
    row: Vector = weights.tables[k - 1][position]
    return row


def _by_class(numbers: Vector, apart: Indices, k: int) -> tuple[Vector, Vector]:
    """Means and standard deviations by number of mismatches, without strings that never occur."""
    known = np.isfinite(numbers)
    counts = np.bincount(apart[known], minlength=k + 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.bincount(apart[known], numbers[known], k + 1) / counts
        squares = np.bincount(apart[known], (numbers[known] - means[apart[known]]) ** 2, k + 1)
        return means, np.sqrt(squares / counts)


def sampled_note(count: int) -> Note:
    """Say that numbers come from sampled sequences."""
    return Note(
        "SEQUENCES_SAMPLED",
        "The score is no sum of weights of single letters, so the numbers are those of "
        f"{count:,} sequences drawn from the background, with standard errors; a higher "
        "sample_count makes these smaller.",
    )
