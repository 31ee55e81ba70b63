"""Options of sequence importances, and checks against memory limits."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from onnxplain_server.core.contract_limits import FirmBackground, FirmKmerWeights, FirmSequences
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.option_checks import check_limits
from onnxplain_server.methods.sequences.background import MarkovChain, uniform

_MAX_MATRIX_NUMBERS = 5_000_000
"""Largest total size of the matrices."""
_MAX_RECURSION_NUMBERS = 50_000_000
_MAX_STRINGS = 2**20
"""Largest number of strings of a motif's length."""


SequenceLayout: TypeAlias = FirmSequences.Layout
"""Layout of a model's one-hot input."""


@dataclass(frozen=True, slots=True)
class SequenceModel:
    """Background of sequences; see `FirmBackground` in the contract.

    Attributes
    ----------
    order : int or None
        Order of a chain fitted to a column; None: not fitted.
    initial, transitions : tuple of float
        Explicit chain, row-major.
    pseudo_count : float
    """

    order: int | None = None
    initial: tuple[float, ...] = ()
    transitions: tuple[float, ...] = ()
    pseudo_count: float = FirmBackground.pseudo_count.default


@dataclass(frozen=True, slots=True)
class ListedWeights:
    """Explicit list of weights of strings at positions.

    Attributes
    ----------
    constant : float
        Added to each score.
    """

    kmers: tuple[str, ...]
    positions: tuple[int, ...]
    values: tuple[float, ...]
    constant: float = FirmKmerWeights.constant.default


@dataclass(frozen=True, slots=True)
class Options:
    """Options of sequence importances; see `FirmSequences` in the contract.

    Attributes
    ----------
    length : int or None
        Length of the sequences; None, before it is resolved: from weights, model or column.
    weights : ListedWeights or None
        Explicit score; None: the model.
    """

    column: str = ""
    alphabet: str = FirmSequences.alphabet.default
    length: int | None = None
    background: SequenceModel = field(default_factory=SequenceModel)
    weights: ListedWeights | None = None
    max_length: int = FirmSequences.max_length.default
    motifs: tuple[str, ...] = ()
    top_count: int = FirmSequences.top_count.default
    layout: SequenceLayout = FirmSequences.layout.default
    sample_count: int = FirmSequences.sample_count.default


def check(options: Options, path: str) -> None:
    """Reject options that are invalid for any model and table."""
    letters, limits = Counter(options.alphabet), FirmSequences.alphabet
    if (
        not limits.min_items <= len(letters) <= limits.max_items
        or max(letters.values(), default=2) > 1
    ):
        raise _invalid(
            f"an alphabet has {limits.min_items} to {limits.max_items} letters, none twice; "
            f"given is {options.alphabet!r}",
            f"{path}.alphabet",
        )
    check_limits(FirmSequences, options, path)
    check_limits(FirmBackground, options.background, f"{path}.background")
    if options.background.order is not None and not options.column:
        raise _invalid("a chain is fitted to a column of text; name it", f"{path}.column")
    for i, motif in enumerate(options.motifs):
        _check_letters(motif, options.alphabet, f"{path}.motifs[{i}]")
    if options.weights is not None:
        _check_weights(options.weights, options.alphabet, f"{path}.weights")


def _check_weights(weights: ListedWeights, alphabet: str, path: str) -> None:
    counts = {len(weights.kmers), len(weights.positions), len(weights.values)}
    if len(counts) > 1 or not weights.kmers:
        raise _invalid(
            f"{len(weights.kmers)} kmers, {len(weights.positions)} positions and "
            f"{len(weights.values)} values; there must be as many of each, at least one",
            path,
        )
    for i, kmer in enumerate(weights.kmers):
        _check_letters(kmer, alphabet, f"{path}.kmers[{i}]")
    if min(weights.positions) < 0:
        raise _invalid("positions count from 0 and are not negative", f"{path}.positions")
    if not np.isfinite([*weights.values, weights.constant]).all():
        raise _invalid("weights must be finite", f"{path}.values")


def _check_letters(text: str, alphabet: str, path: str) -> None:
    wrong = sorted(set(text) - set(alphabet))
    if wrong or not text:
        problem = f"{text!r} has {wrong[0]!r}, which is not" if wrong else "an empty string is not"
        raise _invalid(f"{problem} of the alphabet {alphabet!r}", path)


def check_sizes(options: Options, length: int, order: int, outputs: int, path: str) -> None:
    """Reject sizes that would not fit into memory.

    Parameters
    ----------
    length : int
        Length of the sequences.
    order : int
        Order of the background.
    """
    size = len(options.alphabet)
    ks = range(1, options.max_length + 1)
    if length < max(options.max_length, order + 1):
        raise _invalid(
            f"sequences of {length} letters are shorter than max_length {options.max_length}, "
            f"or than the order {order} of the background and one letter",
            f"{path}.max_length",
        )
    if sum(size**k * (length - k + 1) for k in ks) * outputs > _MAX_MATRIX_NUMBERS:
        raise _invalid(
            f"strings of up to {options.max_length} letters at {length} positions are more than "
            f"{_MAX_MATRIX_NUMBERS:,} numbers",
            f"{path}.max_length",
        )
    longest = max(map(len, options.weights.kmers)) if options.weights else 1
    if length * size ** (max(order, longest - 1) + 1) > _MAX_RECURSION_NUMBERS:
        raise _invalid(
            f"strings of {longest} letters, or a background of order {order}, are too long for "
            f"an alphabet of {size} letters and sequences of {length}",
            path,
        )
    for i, motif in enumerate(options.motifs):
        if len(motif) > length or size ** len(motif) > _MAX_STRINGS or len(motif) < order:
            raise _invalid(
                f"motif {motif!r} must have at least {order} letters (the order of the "
                f"background), at most {length}, and few enough that there are no more than "
                f"{_MAX_STRINGS:,} strings as long",
                f"{path}.motifs[{i}]",
            )


def chain(options: Options, path: str) -> MarkovChain:
    """Return the explicit background; uniform if there is none.

    Raises
    ------
    ExplainError
        INVALID_OPTION.
    """
    background, size = options.background, len(options.alphabet)
    if not background.transitions:
        if background.initial:
            raise _invalid("initial needs transitions", f"{path}.background.initial")
        return uniform(size)
    rows, rest = divmod(len(background.transitions), size)
    order = round(np.log(rows) / np.log(size)) if rows else -1
    if rest or order < 0 or size**order != rows:
        raise _invalid(
            f"transitions has {len(background.transitions)} numbers; a chain of order d has "
            f"{size} ** (d + 1)",
            f"{path}.background.transitions",
        )
    initial = np.array(background.initial or ([1.0] if order == 0 else []))
    if order == 0 and len(initial) == size:
        # For order 0 the first letter has the distribution of all others.
        initial = np.ones(1)
    if len(initial) != rows:
        raise _invalid(
            f"initial has {len(initial)} numbers; a chain of order {order} has {rows}",
            f"{path}.background.initial",
        )
    table = np.array(background.transitions).reshape(rows, size)
    _check_probabilities(initial[None], f"{path}.background.initial")
    _check_probabilities(table, f"{path}.background.transitions")
    return MarkovChain(initial / initial.sum(), table / table.sum(axis=1, keepdims=True))


def _check_probabilities(rows: np.ndarray, path: str) -> None:
    if not (np.isfinite(rows).all() and (rows >= 0).all()):
        raise _invalid("probabilities must be in [0, 1]", path)
    if (np.abs(rows.sum(axis=1) - 1) > 1e-6).any():
        raise _invalid("the probabilities of each row must add up to 1", path)


def _invalid(message: str, path: str) -> ExplainError:
    return ExplainError(Reason.INVALID_OPTION, message, path)
