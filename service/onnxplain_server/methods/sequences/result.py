"""Result of sequence importances: matrices by string length, top strings, and motifs."""

from __future__ import annotations

from dataclasses import dataclass

from onnxplain_server.core.arrays import Cube, Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.methods.sequences.background import MarkovChain


@dataclass(frozen=True, slots=True, eq=False)
class Kmers:
    """Importance matrix: all strings of one length at all positions.

    Attributes
    ----------
    length : int
    differences : (n_strings, n_positions, n_outputs)
        Expected score given the string there, minus the overall one (Q').
    importances : as `differences`
        Q' · √(p / (1 - p)): signed FIRM.
    standard_errors : as `differences`, or None if exact
        Standard errors of the differences.
    """

    length: int
    differences: Cube
    importances: Cube
    standard_errors: Cube | None


@dataclass(frozen=True, slots=True, eq=False)
class TopKmer:
    """String at a position among the most important ones of an output."""

    kmer: str
    position: int
    output: int
    difference: float
    importance: float


@dataclass(frozen=True, slots=True, eq=False)
class MismatchClass:
    """Strings with a given Hamming distance to a motif, by position.

    Attributes
    ----------
    mismatch_count, kmer_count : int
    differences, importances : (n_positions, n_outputs)
        Means over the strings.
    difference_deviations, importance_deviations : (n_positions, n_outputs)
        Standard deviations over the strings.
    weights, weight_deviations : (n_positions, n_outputs) or None
        Raw weights of these strings; None if the score has none of that length.
    """

    mismatch_count: int
    kmer_count: int
    differences: Matrix
    importances: Matrix
    difference_deviations: Matrix
    importance_deviations: Matrix
    weights: Matrix | None
    weight_deviations: Matrix | None


@dataclass(frozen=True, slots=True, eq=False)
class Motif:
    """Motif with its mismatch classes; strings of the last class differ from it in each letter."""

    motif: str
    mismatch_classes: tuple[MismatchClass, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Importances of strings at positions; see `FirmSequencesResult` in the contract.

    Attributes
    ----------
    is_exact : bool
        True: by recursion; False: from sampled sequences.
    means, deviations : (n_outputs,)
        Means and standard deviations of the scores under the background.
    """

    output_names: tuple[str, ...]
    alphabet: str
    length: int
    is_exact: bool
    background: MarkovChain
    means: Vector
    deviations: Vector
    kmers: tuple[Kmers, ...]
    top: tuple[TopKmer, ...]
    motifs: tuple[Motif, ...]
    notes: tuple[Note, ...]
