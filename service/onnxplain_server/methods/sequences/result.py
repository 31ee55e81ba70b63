"""What is found of sequences."""

from __future__ import annotations

from dataclasses import dataclass

from onnxplain_server.core.arrays import Cube, Matrix, Vector
from onnxplain_server.core.model import Note
from onnxplain_server.methods.sequences.background import MarkovChain


@dataclass(frozen=True, slots=True, eq=False)
class Kmers:
    """All strings of one length at all positions.

    Attributes
    ----------
    length : int
    differences : (n_strings, n_positions, n_outputs)
        Expected score with the string there, minus that of all sequences (Q').
    importances : as `differences`
        Q' times the root of p / (1 - p): signed FIRM.
    standard_errors : as `differences`, or None where exact
        Of the differences.
    """

    length: int
    differences: Cube
    importances: Cube
    standard_errors: Cube | None


@dataclass(frozen=True, slots=True, eq=False)
class TopKmer:
    """A string at a position that is among the most important for an output."""

    kmer: str
    position: int
    output: int
    difference: float
    importance: float


@dataclass(frozen=True, slots=True, eq=False)
class MismatchClass:
    """All strings that differ from a motif in so many letters, by position.

    Attributes
    ----------
    mismatch_count, kmer_count : int
    differences, importances : (n_positions, n_outputs)
        Means over the strings.
    difference_deviations, importance_deviations : (n_positions, n_outputs)
        Standard deviations over the strings.
    weights, weight_deviations : (n_positions, n_outputs) or None
        Of the raw weights of these very strings; None where there are none.
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
    """A motif and what resembles it; the last of `mismatched` agrees with it nowhere."""

    motif: str
    mismatch_classes: tuple[MismatchClass, ...]


@dataclass(frozen=True, slots=True, eq=False)
class Result:
    """Importances of strings at positions; see `FirmSequencesResult` in the contract.

    Attributes
    ----------
    is_exact : bool
        Whether by recursion; otherwise from sampled sequences.
    means, deviations : (n_outputs,)
        Of the scores under the background.
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
