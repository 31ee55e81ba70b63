"""What to compute of sequences."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from enum import Enum

import numpy as np

from onnxplain_server.core.contract_limits import FirmBackground, FirmKmerWeights, FirmSequences
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.methods.option_checks import check_limits
from onnxplain_server.methods.sequences.background import MarkovChain, uniform

_MOST_IN_MATRICES = 5_000_000
"""Numbers that all matrices together may hold."""
_MOST_IN_RECURSION = 50_000_000
_MOST_STRINGS = 2**20
"""Strings as long as a motif."""


class SequenceLayout(Enum):
    """How a model takes sequences."""

    POSITION_MAJOR = "POSITION_MAJOR"
    LETTER_MAJOR = "LETTER_MAJOR"


@dataclass(frozen=True, slots=True)
class SequenceModel:
    """What sequences are like; see `FirmBackground` in the contract.

    Attributes
    ----------
    order : int or None
        Of a chain that is fitted to a column; None: not fitted.
    initial, transitions : tuple of float
        Of a chain that is given; row-major.
    pseudo_count : float
    """

    order: int | None = None
    initial: tuple[float, ...] = ()
    transitions: tuple[float, ...] = ()
    pseudo_count: float = FirmBackground.pseudo_count.default


@dataclass(frozen=True, slots=True)
class ListedWeights:
    """Weights of strings at positions, one by one.

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
    """What to compute; see `FirmSequences` in the contract.

    Attributes
    ----------
    length : int or None
        Of the sequences; None, before it is resolved: that of the weights, the model or the
        column.
    weights : ListedWeights or None
        The score; None: the model.
    """

    column: str = ""
    alphabet: str = FirmSequences.alphabet.default
    length: int | None = None
    background: SequenceModel = field(default_factory=SequenceModel)
    weights: ListedWeights | None = None
    max_length: int = FirmSequences.max_length.default
    motifs: tuple[str, ...] = ()
    top_count: int = FirmSequences.top_count.default
    layout: SequenceLayout = SequenceLayout[FirmSequences.layout.default]
    sample_count: int = FirmSequences.sample_count.default


def check(options: Options, path: str) -> None:
    """Refuse what is impossible whatever the model and the table."""
    letters, limits = Counter(options.alphabet), FirmSequences.alphabet
    if (
        not limits.min_items <= len(letters) <= limits.max_items
        or max(letters.values(), default=2) > 1
    ):
        raise _refused(
            f"an alphabet has {limits.min_items} to {limits.max_items} letters, none twice; "
            f"given is {options.alphabet!r}",
            f"{path}.alphabet",
        )
    check_limits(FirmSequences, options, path)
    check_limits(FirmBackground, options.background, f"{path}.background")
    if options.background.order is not None and not options.column:
        raise _refused("a chain is fitted to a column of text; name it", f"{path}.column")
    for i, motif in enumerate(options.motifs):
        _check_letters(motif, options.alphabet, f"{path}.motifs[{i}]")
    if options.weights is not None:
        _check_weights(options.weights, options.alphabet, f"{path}.weights")


def _check_weights(weights: ListedWeights, alphabet: str, path: str) -> None:
    counts = {len(weights.kmers), len(weights.positions), len(weights.values)}
    if len(counts) > 1 or not weights.kmers:
        raise _refused(
            f"{len(weights.kmers)} kmers, {len(weights.positions)} positions and "
            f"{len(weights.values)} values; there must be as many of each, at least one",
            path,
        )
    for i, kmer in enumerate(weights.kmers):
        _check_letters(kmer, alphabet, f"{path}.kmers[{i}]")
    if min(weights.positions) < 0:
        raise _refused("positions count from 0 and are not negative", f"{path}.positions")
    if not np.isfinite([*weights.values, weights.constant]).all():
        raise _refused("weights must be finite", f"{path}.values")


def _check_letters(text: str, alphabet: str, path: str) -> None:
    wrong = sorted(set(text) - set(alphabet))
    if wrong or not text:
        told = f"{text!r} has {wrong[0]!r}, which is not" if wrong else "an empty string is not"
        raise _refused(f"{told} of the alphabet {alphabet!r}", path)


def check_sizes(options: Options, length: int, order: int, outputs: int, path: str) -> None:
    """Refuse what would not fit into memory.

    Parameters
    ----------
    length : int
        Of the sequences.
    order : int
        Of the background.
    """
    size = len(options.alphabet)
    ks = range(1, options.max_length + 1)
    if length < max(options.max_length, order + 1):
        raise _refused(
            f"sequences of {length} letters are shorter than max_length {options.max_length}, "
            f"or than the order {order} of the background and one letter",
            f"{path}.max_length",
        )
    if sum(size**k * (length - k + 1) for k in ks) * outputs > _MOST_IN_MATRICES:
        raise _refused(
            f"strings of up to {options.max_length} letters at {length} positions are more than "
            f"{_MOST_IN_MATRICES:,} numbers",
            f"{path}.max_length",
        )
    longest = max(map(len, options.weights.kmers)) if options.weights else 1
    if length * size ** (max(order, longest - 1) + 1) > _MOST_IN_RECURSION:
        raise _refused(
            f"strings of {longest} letters, or a background of order {order}, are too long for "
            f"an alphabet of {size} letters and sequences of {length}",
            path,
        )
    for i, motif in enumerate(options.motifs):
        if len(motif) > length or size ** len(motif) > _MOST_STRINGS or len(motif) < order:
            raise _refused(
                f"motif {motif!r} must have at least {order} letters (the order of the "
                f"background), at most {length}, and few enough that there are no more than "
                f"{_MOST_STRINGS:,} strings as long",
                f"{path}.motifs[{i}]",
            )


def chain(options: Options, path: str) -> MarkovChain:
    """Make the background that is given; uniform where nothing is.

    Raises
    ------
    ExplainError
        INVALID_OPTION.
    """
    given, size = options.background, len(options.alphabet)
    if not given.transitions:
        if given.initial:
            raise _refused("initial needs transitions", f"{path}.background.initial")
        return uniform(size)
    rows, rest = divmod(len(given.transitions), size)
    order = round(np.log(rows) / np.log(size)) if rows else -1
    if rest or order < 0 or size**order != rows:
        raise _refused(
            f"transitions has {len(given.transitions)} numbers; a chain of order d has "
            f"{size} ** (d + 1)",
            f"{path}.background.transitions",
        )
    initial = np.array(given.initial or ([1.0] if order == 0 else []))
    if order == 0 and len(initial) == size:
        # For order 0 the first letter is drawn as any other.
        initial = np.ones(1)
    if len(initial) != rows:
        raise _refused(
            f"initial has {len(initial)} numbers; a chain of order {order} has {rows}",
            f"{path}.background.initial",
        )
    table = np.array(given.transitions).reshape(rows, size)
    _check_shares(initial[None], f"{path}.background.initial")
    _check_shares(table, f"{path}.background.transitions")
    return MarkovChain(initial / initial.sum(), table / table.sum(axis=1, keepdims=True))


def _check_shares(rows: np.ndarray, path: str) -> None:
    if not (np.isfinite(rows).all() and (rows >= 0).all()):
        raise _refused("probabilities must be in [0, 1]", path)
    if (np.abs(rows.sum(axis=1) - 1) > 1e-6).any():
        raise _refused("the probabilities of each row must add up to 1", path)


def _refused(message: str, path: str) -> ExplainError:
    return ExplainError(Reason.INVALID_OPTION, message, path)
