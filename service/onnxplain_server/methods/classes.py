"""Classes that a target names, paired with the outputs of the model that score them.

A pairing is by equal names or equal numbers, or given by the request. Sorted order pairs nothing:
numbers sort otherwise than the texts that spell them, and so do labels that were renamed.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import numpy as np

from onnxplain_server.core.arrays import Array, Indices
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import listed

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_LONGEST_NUMBER = 100
"""Characters of a text that may spell a number."""
_LONGEST_WHOLE = 1e21
"""Whole numbers from here on are spelled with an exponent."""
_TRUTHS = {"false": Decimal(0), "true": Decimal(1)}


@dataclass(frozen=True, slots=True)
class Outputs:
    """Outputs of the model, as far as a target is compared with them.

    Attributes
    ----------
    names : tuple of str
        Of all outputs of the model.
    explained : tuple of int
        Positions of those that are explained.
    are_classes : bool
        Whether they score classes.
    class_labels : tuple of str
        The target's labels in the order of the outputs, as the request has them; two labels, the
        negative first, for one output. Empty where the request leaves them out.
    """

    names: tuple[str, ...]
    explained: tuple[int, ...]
    are_classes: bool = False
    class_labels: tuple[str, ...] = ()

    @property
    def all_explained(self) -> Outputs:
        """The same with all outputs chosen."""
        return Outputs(
            self.names, tuple(range(len(self.names))), self.are_classes, self.class_labels
        )

    @property
    def label_order(self) -> tuple[str, ...]:
        """Names of the outputs in the order of `class_labels`: "" for the negative class."""
        return ("", *self.names) if len(self.names) == 1 else self.names


@dataclass(frozen=True, slots=True)
class ClassPairing:
    """A class of the target, and the output that scores it; see `ClassPairing` in the contract."""

    label: str
    output_name: str


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """The class of each row.

    Attributes
    ----------
    outputs : (n_rows,)
        Position of the output that scores it, among all outputs; -1 for the class that the only
        output of a model scores against.
    pairings : tuple of ClassPairing
        In the order of the outputs.
    """

    outputs: Indices
    pairings: tuple[ClassPairing, ...]


def pair(column: Array, outputs: Outputs, field: str, advice: str = "") -> Classes:
    """Pair the classes in a target column with outputs.

    Parameters
    ----------
    column : (n_rows,)
        float64, or str objects; none missing.
    field : str
        Path of the field that named the column.
    advice : str
        What else than `class_labels` may be done about a refusal.

    Raises
    ------
    ExplainError
        INVALID_OPTION where classes and outputs have neither names nor numbers in common, where
        several are equal, or where `class_labels` do not fit.
    """
    values, codes = np.unique(column, return_inverse=True)
    labels = tuple(map(format_label, values))
    is_number = column.dtype != object
    if outputs.class_labels:
        _check_given(outputs)
        places = _given(labels, outputs, is_number=is_number)
    elif len(outputs.names) == 1:
        places = _with_one(labels, outputs.names[0], field, advice)
    else:
        places = _by_equality(labels, outputs.names, field, advice, is_number=is_number)
    ends = outputs.label_order
    named = dict(zip(places, labels, strict=True)) | dict(enumerate(outputs.class_labels))
    pairings = tuple(ClassPairing(named[k], end) for k, end in enumerate(ends) if k in named)
    first = len(ends) - len(outputs.names)
    return Classes(np.array(places)[codes] - first, pairings)


def format_label(value: float | str) -> str:
    """Spell a value of a target so that it reads back as the same: 1.0 as "1"."""
    if isinstance(value, str):
        return value
    is_short = abs(value) < _LONGEST_WHOLE and float(value).is_integer()
    return f"{value + 0.0:.0f}" if is_short else repr(float(value))


def parse_number(text: str) -> Decimal | None:
    """Read the number that a text spells, exactly; None where it spells none."""
    if len(text) > _LONGEST_NUMBER or not _NUMBER.fullmatch(text):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # an exponent that no computer holds
        return None


def _check_given(outputs: Outputs) -> None:
    labels, ends = outputs.class_labels, outputs.label_order
    if len(labels) != len(ends):
        wanted = (
            "two labels, the negative class first"
            if len(outputs.names) == 1
            else "one label for each, in their order"
        )
        raise _refused(
            f"class_labels has {len(labels)} labels, {listed(labels)}; the model has "
            f"{len(outputs.names)} outputs, {listed(outputs.names)}: give {wanted}",
            "class_labels",
        )
    if len(set(labels)) < len(labels) or "" in labels:
        raise _refused(
            f"class_labels are {listed(labels)}; none may be empty, and none twice", "class_labels"
        )


class _Names:
    """Names that labels are looked up among.

    Parameters
    ----------
    names : tuple of str
    is_number : bool
        Whether labels were read as numbers, and have no text of their own.
    """

    def __init__(self, names: tuple[str, ...], *, is_number: bool) -> None:
        # Tables hold true as 1 and false as 0.
        truths = is_number and sorted(map(str.lower, names)) == ["false", "true"]
        self._texts: dict[str, list[int]] = defaultdict(list)
        self._numbers: dict[Decimal, list[int]] = defaultdict(list)
        for place, name in enumerate(names):
            value = _TRUTHS[name.lower()] if truths else parse_number(name)
            if not is_number:
                self._texts[name].append(place)
            if value is not None:
                self._numbers[value].append(place)

    def places(self, label: str) -> list[int]:
        """Positions of the names that equal a label: as texts, or else as numbers."""
        if label in self._texts:
            return self._texts[label]
        value = parse_number(label)
        return [] if value is None else self._numbers.get(value, [])


def _given(labels: tuple[str, ...], outputs: Outputs, *, is_number: bool) -> list[int]:
    """Positions of the target's classes in `class_labels`."""
    names = _Names(outputs.class_labels, is_number=is_number)
    found = [names.places(label) for label in labels]
    unknown = tuple(label for label, places in zip(labels, found, strict=True) if not places)
    if unknown:
        raise _refused(
            f"the target holds {listed(unknown)}, which is none of class_labels, "
            f"{listed(outputs.class_labels)}; give the labels as the target has them, or leave "
            "these rows out",
            "class_labels",
        )
    return _unique(labels, found, outputs.class_labels, "class_labels", "class_labels")


def _by_equality(
    labels: tuple[str, ...], outputs: tuple[str, ...], field: str, advice: str, *, is_number: bool
) -> list[int]:
    names = _Names(outputs, is_number=is_number)
    found = [names.places(label) for label in labels]
    unknown = tuple(label for label, places in zip(labels, found, strict=True) if not places)
    if unknown:
        raise _refused(
            f"{_told(labels, outputs)}; no output has the name or the number of {listed(unknown)}. "
            f"Give class_labels, the target's labels in the order of the outputs{advice}; leave "
            "out rows of classes that the model does not know",
            field,
        )
    return _unique(labels, found, outputs, "the outputs", field)


def _with_one(labels: tuple[str, ...], name: str, field: str, advice: str) -> list[int]:
    """Pair at most two classes with the only output: 1 for its class, and 0 for the other one."""
    told = _told(labels, (name,))
    remedy = f"give class_labels, the two labels of the target, the negative class first{advice}"
    if len(labels) > 2:
        raise _refused(
            f"{told}; one output tells no more than two classes apart. Leave rows of the others "
            f"out{advice}",
            field,
        )
    numbers = [parse_number(label) for label in labels]
    named = [k for k, label in enumerate(labels) if label == name or _same(label, name)]
    if set(numbers) <= {Decimal(0), Decimal(1)}:
        if len(set(numbers)) < len(numbers):
            raise _refused(f"{told}; both labels are the same number, so {remedy}", field)
        if parse_number(name) == 0:
            raise _refused(
                f"{told}; it may score the class 0 by its name, or the class 1 by custom, so "
                f"{remedy}",
                field,
            )
        return [int(value) for value in numbers if value is not None]
    if len(named) != 1:
        raise _refused(f"{told}, named like neither of them or like both, so {remedy}", field)
    return [int(k in named) for k in range(len(labels))]


def _same(label: str, name: str) -> bool:
    value = parse_number(label)
    return value is not None and value == parse_number(name)


def _unique(
    labels: Sequence[str],
    found: Sequence[Sequence[int]],
    names: tuple[str, ...],
    what: str,
    field: str,
) -> list[int]:
    """Refuse a class that equals several names, and a name that equals several classes."""
    owners: dict[int, str] = {}
    for label, places in zip(labels, found, strict=True):
        if len(places) > 1:
            equal = tuple(names[k] for k in places)
            raise _refused(
                f"the target's class {label!r} equals several of {what}, {listed(equal)}; give "
                "each class a name of its own",
                field,
            )
        other = owners.setdefault(places[0], label)
        if other != label:
            raise _refused(
                f"the target's classes {other!r} and {label!r} both equal {names[places[0]]!r} of "
                f"{what}; spell a class in one way",
                field,
            )
    return [places[0] for places in found]


def _told(labels: tuple[str, ...], names: tuple[str, ...]) -> str:
    outputs = "outputs are" if len(names) > 1 else "only output is"
    return f"the target's classes are {listed(labels)}, the model's {outputs} {listed(names)}"


def _refused(message: str, field: str) -> ExplainError:
    return ExplainError(Reason.INVALID_OPTION, message, field)
