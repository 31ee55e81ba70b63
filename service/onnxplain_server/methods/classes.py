"""Class labels: pair the labels of a target column with the model outputs that score them.

Labels pair by equal name, by equal number, or by the request's `class_labels`. They never pair by
sorted order, because numbers, their spellings and renamed labels sort differently.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation

import numpy as np

from onnxplain_server.core.arrays import Array, Indices
from onnxplain_server.core.castable import are_dates
from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import listed

_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MAX_NUMBER_LENGTH = 100
"""Longest text, in characters, that is parsed as a number."""
_EXPONENT_FROM = 1e21
"""Whole numbers from this one on are formatted with an exponent."""
_BOOLEANS = {"false": Decimal(0), "true": Decimal(1)}


@dataclass(frozen=True, slots=True)
class Outputs:
    """Model outputs that a target is compared with.

    Attributes
    ----------
    names : tuple of str
        Names of all outputs of the model.
    explained : tuple of int
        Positions of the outputs to explain.
    are_classes : bool
        Whether the outputs score classes.
    class_labels : tuple of str
        Labels of the target in the order of the outputs, from the request; for a single output,
        two labels, the negative class first. Empty if the request has none.
    are_expressions : bool
        Whether they are expressions over the outputs of the model; `are_classes` is then about
        those.
    """

    names: tuple[str, ...]
    explained: tuple[int, ...]
    are_classes: bool = False
    class_labels: tuple[str, ...] = ()
    are_expressions: bool = False

    @property
    def all_explained(self) -> Outputs:
        """Copy with all outputs explained."""
        return replace(self, explained=tuple(range(len(self.names))))

    @property
    def label_order(self) -> tuple[str, ...]:
        """Output names in the order of `class_labels`, with "" for the negative class."""
        return ("", *self.names) if len(self.names) == 1 else self.names


@dataclass(frozen=True, slots=True)
class ClassPairing:
    """Pair of a target label and the output that scores it; see `ClassPairing` in the contract."""

    label: str
    output_name: str


@dataclass(frozen=True, slots=True, eq=False)
class Classes:
    """Class of each row, as the position of the output that scores it.

    Attributes
    ----------
    outputs : (n_rows,)
        Position among all outputs; -1 for the negative class of a model with a single output.
    pairings : tuple of ClassPairing
        In the order of the outputs.
    """

    outputs: Indices
    pairings: tuple[ClassPairing, ...]


def pair(column: Array, outputs: Outputs, field: str, advice: str = "") -> Classes:
    """Pair the labels in a target column with outputs.

    Parameters
    ----------
    column : (n_rows,)
        float64 or str objects, without missing values.
    field : str
        Request field that names the column.
    advice : str
        Remedy to add to error messages, besides `class_labels`.

    Raises
    ------
    ExplainError
        INVALID_OPTION if labels and outputs share neither names nor numbers, if a match is
        ambiguous, or if `class_labels` do not fit.
    """
    values, codes = np.unique(column, return_inverse=True)
    labels = tuple(map(format_label, values))
    is_number = column.dtype != object
    if are_dates(labels):
        advice += ". Send a date as the number that the model predicts, such as days"
    if outputs.class_labels:
        _check_class_labels(outputs)
        places = _by_class_labels(labels, outputs, is_number=is_number)
    elif len(outputs.names) == 1:
        places = _with_single_output(labels, outputs.names[0], field, advice)
    else:
        places = _by_equality(labels, outputs.names, field, advice, is_number=is_number)
    names = outputs.label_order
    label_of = dict(zip(places, labels, strict=True)) | dict(enumerate(outputs.class_labels))
    pairings = tuple(
        ClassPairing(label_of[k], name) for k, name in enumerate(names) if k in label_of
    )
    negative_count = len(names) - len(outputs.names)
    return Classes(np.array(places)[codes] - negative_count, pairings)


def format_label(value: float | str) -> str:
    """Format a target value so that it parses back to the same value: 1.0 as "1"."""
    if isinstance(value, str):
        return value
    is_short = abs(value) < _EXPONENT_FROM and float(value).is_integer()
    return f"{value + 0.0:.0f}" if is_short else repr(float(value))


def parse_number(text: str) -> Decimal | None:
    """Parse a text as an exact number; return None if it is not one."""
    if len(text) > _MAX_NUMBER_LENGTH or not _NUMBER.fullmatch(text):
        return None
    try:
        return Decimal(text)
    except InvalidOperation:  # the exponent exceeds the range of Decimal
        return None


def _check_class_labels(outputs: Outputs) -> None:
    labels = outputs.class_labels
    if len(labels) != len(outputs.label_order):
        rule = (
            "two labels, the negative class first"
            if len(outputs.names) == 1
            else "one label for each, in their order"
        )
        raise _invalid(
            f"class_labels has {len(labels)} labels, {listed(labels)}; the model has "
            f"{len(outputs.names)} outputs, {listed(outputs.names)}: give {rule}",
            "class_labels",
        )
    if len(set(labels)) < len(labels) or "" in labels:
        raise _invalid(
            f"class_labels are {listed(labels)}; they must be distinct and not empty",
            "class_labels",
        )


class _NameIndex:
    """Index of names by text and by number, to look labels up in.

    Parameters
    ----------
    names : tuple of str
    is_number : bool
        Whether labels were parsed as numbers, so that their original text is unknown.
    """

    def __init__(self, names: tuple[str, ...], *, is_number: bool) -> None:
        # Tables store true as 1 and false as 0.
        are_booleans = is_number and sorted(map(str.lower, names)) == ["false", "true"]
        self._texts: dict[str, list[int]] = defaultdict(list)
        self._numbers: dict[Decimal, list[int]] = defaultdict(list)
        for place, name in enumerate(names):
            value = _BOOLEANS[name.lower()] if are_booleans else parse_number(name)
            if not is_number:
                self._texts[name].append(place)
            if value is not None:
                self._numbers[value].append(place)

    def places(self, label: str) -> list[int]:
        """Return the positions of names equal to a label: by text, otherwise by number."""
        if label in self._texts:
            return self._texts[label]
        value = parse_number(label)
        return [] if value is None else self._numbers.get(value, [])

    def match(self, labels: Sequence[str]) -> tuple[list[list[int]], tuple[str, ...]]:
        """Look all labels up: the positions for each, and the labels without any."""
        matches = [self.places(label) for label in labels]
        unknown = (label for label, places in zip(labels, matches, strict=True) if not places)
        return matches, tuple(unknown)


def _by_class_labels(labels: tuple[str, ...], outputs: Outputs, *, is_number: bool) -> list[int]:
    """Return the positions of the target's labels in `class_labels`."""
    index = _NameIndex(outputs.class_labels, is_number=is_number)
    matches, unknown = index.match(labels)
    if unknown:
        raise _invalid(
            f"the target holds {listed(unknown)}, which is not in class_labels, "
            f"{listed(outputs.class_labels)}; spell the labels as in the target, or leave these "
            "rows out",
            "class_labels",
        )
    return _unique(labels, matches, outputs.class_labels, "class_labels", "class_labels")


def _by_equality(
    labels: tuple[str, ...], outputs: tuple[str, ...], field: str, advice: str, *, is_number: bool
) -> list[int]:
    matches, unknown = _NameIndex(outputs, is_number=is_number).match(labels)
    if unknown:
        raise _invalid(
            f"{_summary(labels, outputs)}; no output has the name or the number of "
            f"{listed(unknown)}. Give class_labels, the target's labels in the order of the "
            f"outputs{advice}; leave out rows of classes that the model does not know",
            field,
        )
    return _unique(labels, matches, outputs, "the outputs", field)


def _with_single_output(labels: tuple[str, ...], name: str, field: str, advice: str) -> list[int]:
    """Pair at most two labels with a single output: 1 for its class, 0 for the negative class."""
    summary = _summary(labels, (name,))
    remedy = f"give class_labels, the two labels of the target, the negative class first{advice}"
    if len(labels) > 2:
        raise _invalid(
            f"{summary}; a single output scores at most two classes. Leave out the rows of the "
            f"others{advice}",
            field,
        )
    numbers = [parse_number(label) for label in labels]
    matching = [
        k for k, label in enumerate(labels) if label == name or _is_same_number(label, name)
    ]
    if set(numbers) <= {Decimal(0), Decimal(1)}:
        if len(set(numbers)) < len(numbers):
            raise _invalid(f"{summary}; both labels are the same number, so {remedy}", field)
        if parse_number(name) == 0:
            raise _invalid(
                f"{summary}; by its name it scores class 0, by convention class 1, so {remedy}",
                field,
            )
        return [int(value) for value in numbers if value is not None]
    if len(matching) != 1:
        raise _invalid(f"{summary}, named like neither of them or like both, so {remedy}", field)
    return [int(k in matching) for k in range(len(labels))]


def _is_same_number(label: str, name: str) -> bool:
    value = parse_number(label)
    return value is not None and value == parse_number(name)


def _unique(
    labels: Sequence[str],
    matches: Sequence[Sequence[int]],
    names: tuple[str, ...],
    source: str,
    field: str,
) -> list[int]:
    """Return the only match of each label; reject ambiguous labels and names."""
    owners: dict[int, str] = {}
    for label, places in zip(labels, matches, strict=True):
        if len(places) > 1:
            equal = tuple(names[k] for k in places)
            raise _invalid(
                f"the target's class {label!r} equals several of {source}, {listed(equal)}; give "
                "each class a name of its own",
                field,
            )
        other = owners.setdefault(places[0], label)
        if other != label:
            raise _invalid(
                f"the target's classes {other!r} and {label!r} both equal {names[places[0]]!r} of "
                f"{source}; use one spelling per class",
                field,
            )
    return [places[0] for places in matches]


def _summary(labels: tuple[str, ...], names: tuple[str, ...]) -> str:
    outputs = "outputs are" if len(names) > 1 else "only output is"
    return f"the target's classes are {listed(labels)}, the model's {outputs} {listed(names)}"


def _invalid(message: str, field: str) -> ExplainError:
    return ExplainError(Reason.INVALID_OPTION, message, field)
