"""Expansion of pairs: all pairs of some features, as expressions without duplicates."""

from __future__ import annotations

import keyword
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from onnxplain_server.core.errors import ExplainError, Reason
from onnxplain_server.core.table import listed
from onnxplain_server.methods.firm.options import MAX_FEATURES, Combination, Options, Pairs
from onnxplain_server.methods.firm.result import PairGrid
from onnxplain_server.methods.option_checks import players

_JOINTS = {
    Combination.CONJUNCTION: "{} and {}",
    Combination.DISJUNCTION: "{} or {}",
    Combination.EXCLUSIVE_OR: "xor({}, {})",
    Combination.PRODUCT: "{} * {}",
}


@dataclass(slots=True)
class FeatureList:
    """Features to measure, without duplicates, and the grids of pairs among them.

    Attributes
    ----------
    texts : list of str
    paths : list of str
        Request field of each text.
    pair_grids : list of PairGrid
    """

    texts: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    pair_grids: list[PairGrid] = field(default_factory=list)
    _positions: dict[str, int] = field(default_factory=dict)

    def add(self, text: str, path: str) -> int:
        """Add a feature unless it is present; return its position."""
        if text not in self._positions:
            if len(self.texts) == MAX_FEATURES:
                raise ExplainError(
                    Reason.INVALID_OPTION, f"more than {MAX_FEATURES:,} features", path
                )
            self._positions[text] = len(self.texts)
            self.texts.append(text)
            self.paths.append(path)
        return self._positions[text]


def expand(
    options: Options, names: Sequence[str], columns: Collection[str], path: str
) -> FeatureList:
    """List all features: the requested ones, or all columns of the model, then groups and pairs.

    Parameters
    ----------
    names : sequence of str
        Columns that the model takes.
    columns : collection of str
        All columns of the table.

    Raises
    ------
    ExplainError
        INVALID_OPTION.
    """
    feature_list = FeatureList()
    repeated = tuple(text for text, count in Counter(options.features).items() if count > 1)
    if repeated:
        raise ExplainError(
            Reason.INVALID_OPTION, f"{listed(repeated)} is named twice", f"{path}.features"
        )
    for i, text in enumerate(_single_features(options, names)):
        feature_list.add(text, f"{path}.features[{i}]")
    for text in options.named_groups:
        feature_list.add(text, f"{path}.groups")
    for i, pairs in enumerate(options.pairs):
        feature_list.pair_grids.append(_pair(pairs, feature_list, columns, f"{path}.pairs[{i}]"))
    return feature_list


def _single_features(options: Options, names: Sequence[str]) -> Sequence[str]:
    """Return the features before pairs; by default, groups stand in place of their columns."""
    if options.features or options.pairs:
        return options.features
    return tuple(players(names, options.groups))


def _pair(pairs: Pairs, feature_list: FeatureList, columns: Collection[str], path: str) -> PairGrid:
    if pairs.include_negations and pairs.combination is Combination.PRODUCT:
        raise ExplainError(
            Reason.INVALID_OPTION,
            "a product has no negations; leave include_negations out, or use CONJUNCTION",
            f"{path}.include_negations",
        )
    literals = []
    for owner, text in enumerate(pairs.features):
        quoted = _quoted(text, columns, path)
        literals.append((owner, text, quoted))
        if pairs.include_negations:
            negated = f"not {quoted}"
            literals.append((owner, negated, negated))
    joint = _JOINTS[pairs.combination]
    singles = [feature_list.add(text, f"{path}.features[{owner}]") for owner, text, _ in literals]
    cells = [
        (i, j, feature_list.add(joint.format(first[2], second[2]), path))
        for (i, first), (j, second) in combinations(enumerate(literals), 2)
        if first[0] != second[0]
    ]
    names = tuple(text for _, text, _ in literals)
    return PairGrid(names, tuple(cells), tuple(singles), pairs.combination.value)


def _quoted(text: str, columns: Collection[str], path: str) -> str:
    """Quote a feature for use inside an expression."""
    if text not in columns:
        return f"({text})"
    if text.isidentifier() and not keyword.iskeyword(text):
        return text
    if "`" in text:
        raise ExplainError(
            Reason.INVALID_OPTION,
            f"column {text!r} has a backquote in its name and cannot be paired; rename it",
            f"{path}.features",
        )
    return f"`{text}`"
