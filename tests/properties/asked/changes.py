"""Changes of a request after which its answer must be the same."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from asked.answers import Leaves
from asked.case import Case
from asked.models import renamed

_BANDS = ("standard_errors", "lower", "upper", "simultaneous_lower", "simultaneous_upper")
_WITH_BANDS = (
    *("accumulated_local_effects.curves", "partial_dependence.curves"),
    *("partial_dependence.differences", "average_loss.losses"),
)
_DRAWN_BY_ROW = {
    "permutation_importance.importances",
    "feature_vectors",  # of grown forests, see `grown_from`
    "firm.importances.standard_errors",
    "firm.importances.lower",
    "firm.importances.upper",
    *(f"{place}.{name}" for place in _WITH_BANDS for name in _BANDS),
    "conclusions",
}
"""Numbers from draws, in which rows stand for themselves: in another order, they are others."""


ALL_COALITIONS = {"permutationCount": 2_000}
"""Of attributions: so many orders that all coalitions of the features here take no more rows."""


@dataclass(frozen=True)
class Changed:
    """A request before and after a change.

    Attributes
    ----------
    weight : float
        What total weights were multiplied by.
    view : callable (leaves) -> leaves
        Brings the answer after the change to the names and rows before it.
    left_out : callable (field) -> bool
        Fields that seeded draws decide.
    """

    before: Case
    after: Case
    weight: float = 1.0
    view: Callable[[Leaves], Leaves] = field(default=lambda answer: answer)
    left_out: Callable[[str], bool] = field(default=lambda _field: False)


def with_rows_of_no_weight(case: Case, seed: int) -> Changed:
    """Put rows of weight 0 between the others, or last, made of cells of theirs.

    Rows are drawn by their numbers, which rows between them change: then nothing may be drawn.
    """
    random = np.random.default_rng(seed)
    before, left_out = _weighed(case), grown_from(case)
    positions = np.sort(random.integers(0, case.n_rows + 1, random.integers(1, 4)))
    if random.integers(2):
        before, left_out = _undrawn(before), _drawn_by_row(case)
    else:
        positions[:] = case.n_rows
    places = np.arange(case.n_rows) + np.searchsorted(positions, np.arange(case.n_rows), "right")
    columns = {}
    for name, values in before.columns.items():
        own = list(values)
        added = [own[random.integers(case.n_rows)] for _ in positions]
        for position, value in zip(positions[::-1], added, strict=True):
            own.insert(position, 0.0 if name == _weight_column(before) else value)
        columns[name] = own
    after = replace(before, columns=columns, options=_moved(before.options, places))
    back = {int(place): row for row, place in enumerate(places)}
    return Changed(before, after, 1.0, lambda answer: _with_rows(answer, back), left_out)


def with_rows_permuted(case: Case, seed: int) -> Changed:
    """Put rows into another order; nothing is drawn from them."""
    before = _undrawn(case)
    order = np.random.default_rng(seed).permutation(case.n_rows)
    columns = {name: [values[i] for i in order] for name, values in before.columns.items()}
    after = replace(before, columns=columns, options=_moved(before.options, np.argsort(order)))
    back = {place: int(row) for place, row in enumerate(order)}
    grown = grown_from(case)

    def left_out(name: str) -> bool:
        drawn = name.startswith(tuple(_DRAWN_BY_ROW - {"feature_vectors"}))
        swarm = case.methods[0].get("swarm", {})
        drawn_by_row = swarm.get("search") != "EXACT" or swarm.get("perturbation") == "GAUSSIAN"
        moved = name.startswith("swarm") and drawn_by_row
        return drawn or grown(name) or moved

    return Changed(before, after, 1.0, lambda answer: _with_rows(answer, back), left_out)


def with_weights_times_7(case: Case, _seed: int) -> Changed:
    """Multiply all weights by 7, where they are weights only."""
    before = _weighed(case)
    name = _weight_column(before)
    if re.search(rf"\b{name}\b", json.dumps(before.methods)):
        before = _weighed_by_another_column(before)
        name = _weight_column(before)
    columns = {**before.columns, name: [7 * weight for weight in before.columns[name]]}
    return Changed(before, replace(before, columns=columns), 7.0, left_out=grown_from(case))


def with_columns_renamed(case: Case, _seed: int) -> Changed:
    """Give all columns names that sort the other way round, in the model too."""
    names = {name: f"q{99 - j}q" for j, name in enumerate(case.columns)}
    pattern = re.compile(r"\b(" + "|".join(map(re.escape, names)) + r")\b")
    told = json.dumps([case.options, ""])
    options = json.loads(told)[0]
    for key in ("featureColumns", "methods"):
        if key in options:
            options[key] = _texts(options[key], lambda t: pattern.sub(lambda m: names[m[0]], t))
    for key in ("targetColumn", "weightColumn"):
        if key in options:
            options[key] = names[options[key]]
    after = replace(
        case,
        content=case.content if case.is_matrix else renamed(case.content, names),
        columns={names[name]: values for name, values in case.columns.items()},
        options=options,
    )
    back = {new: old for old, new in names.items()}

    def view(answer: Leaves) -> Leaves:
        return {
            path: re.sub(r"q\d\dq", lambda m: back.get(m[0], m[0]), value)
            if isinstance(value, str)
            else value
            for path, value in answer.items()
        }

    return Changed(case, after, view=view)


CHANGES: Mapping[str, Callable[[Case, int], Changed]] = {
    "rows of weight 0": with_rows_of_no_weight,
    "rows permuted": with_rows_permuted,
    "weights times 7": with_weights_times_7,
    "columns renamed": with_columns_renamed,
}


def _weight_column(case: Case) -> str:
    return str(case.options["weightColumn"])


def _weighed(case: Case) -> Case:
    """Give rows that all weigh the same a weight of 1."""
    if "weightColumn" in case.options:
        return case
    columns = {**case.columns, "w": [1.0] * case.n_rows}
    return replace(case, columns=columns, options={**case.options, "weightColumn": "w"})


def _weighed_by_another_column(case: Case) -> Case:
    columns = {**case.columns, "weight": case.columns[_weight_column(case)]}
    return replace(case, columns=columns, options={**case.options, "weightColumn": "weight"})


def _undrawn(case: Case) -> Case:
    """Take all rows, and resample none."""
    options = {k: v for k, v in case.options.items() if k not in {"rowCount", "seed"}}
    name, method = next(iter(case.methods[0].items()))
    drawn = {"repeatCount", "permutationCount"} if name == "interactions" else {"curveCount"}
    kept = {k: v for k, v in method.items() if k not in drawn | {"explainedRowCount"}}
    kept |= ALL_COALITIONS if name == "attributions" else {}
    return replace(case, options={**options, "methods": [{name: kept}]})


def grown_from(case: Case) -> Callable[[str], bool]:
    """Whether a field is of a grown forest: ties of its splits are broken by the last digit."""
    vectors = case.methods[0].get("featureVectors", {})
    is_grown = vectors.get("source") in {"SURROGATE", "LABELS"}
    return lambda name: is_grown and name.startswith("feature_vectors")


def _drawn_by_row(case: Case) -> Callable[[str], bool]:
    """Whether a field depends on row numbers."""
    grown = grown_from(case)

    def is_drawn(name: str) -> bool:
        drawn = name.startswith(tuple(_DRAWN_BY_ROW - {"feature_vectors"}))
        swarm = case.methods[0].get("swarm", {})
        drawn_by_row = swarm.get("search") != "EXACT" or swarm.get("perturbation") == "GAUSSIAN"
        moved = name.startswith("swarm") and drawn_by_row
        return drawn or grown(name) or moved

    return is_drawn


def _moved(options: Mapping[str, Any], places: Sequence[int] | np.ndarray[Any, Any]):
    """Name rows by their new places."""
    methods = [
        {
            name: method
            | {
                key: [int(places[row]) for row in method[key]]
                for key in ("rowIndices", "backgroundRowIndices")
                if key in method
            }
            for name, method in one.items()
        }
        for one in options["methods"]
    ]
    return {**options, "methods": methods}


def _with_rows(answer: Leaves, rows: Mapping[int, int]) -> Leaves:
    """Name rows as before, and put curves of single rows in their order."""
    found = {
        path: rows.get(value, value) if re.search(r"row_(index|indices\[\d+\])$", path) else value
        for path, value in answer.items()
    }
    return _sorted(found)


def _sorted(answer: Leaves) -> Leaves:
    """Sort the curves of single rows by their rows."""
    found = dict(answer)
    for path, count in answer.items():
        if not path.endswith(".row_indices.count") or not count:
            continue
        start = path.removesuffix(".row_indices.count")
        order = sorted(range(count), key=lambda i: answer[f"{start}.row_indices[{i}]"])
        for name in _by_row(answer, start):
            per_row = answer[f"{start}.{name}.count"] // count
            for i, row in enumerate(order):
                for k in range(per_row):
                    source = f"{start}.{name}[{row * per_row + k}]"
                    found[f"{start}.{name}[{i * per_row + k}]"] = answer[source]
    return found


def _by_row(answer: Leaves, start: str) -> list[str]:
    """Name the lists of a result that have some numbers for each row."""
    known = ("row_indices", "groups", "values", "predictions", "standard_errors", "interactions")
    own = [name for name in known if answer.get(f"{start}.{name}.count")]
    columns = range(answer.get(f"{start}.feature_values.count", 0))
    parts = [f"feature_values[{j}].{kind}" for j in columns for kind in ("numbers", "strings")]
    return own + [name for name in parts if answer.get(f"{start}.{name}.count")]


def _texts(value, change: Callable[[str], str]):
    if isinstance(value, dict):
        return {key: _texts(item, change) for key, item in value.items()}
    if isinstance(value, list):
        return [_texts(item, change) for item in value]
    return change(value) if isinstance(value, str) else value
