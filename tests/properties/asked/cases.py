"""Cases as hypothesis draws them: a model, a table for it, a method with options."""

from __future__ import annotations

from typing import Any

from asked.case import Case, Values
from asked.methods import options_of
from asked.models import NAMES, Kind, read_kind
from hypothesis import strategies as st

_MOST_ROWS = 20
_WEIGHTS: dict[str, list[float]] = {
    "equal": [2.5],
    "with zeros": [0.0, 0.0, 1.0, 2.0, 3.0],
    "fractions": [0.1, 0.25, 1.0, 7.3],
    "huge": [1e300, 2e307, 1e307],
    "tiny": [1e-300, 3e-300, 1e-310],
    "far apart": [1e-12, 1.0, 1e12],
}
_ENGINES = [*6 * ["ENGINE_UNSPECIFIED"], *3 * ["BLACK_BOX"], "TREES"]
_ODD = [0.0, -0.0, 1e30, -1e30, 1e-40, 0.5, 3.0]


def _mostly(yes: int = 9) -> st.SearchStrategy[bool]:
    return st.sampled_from([True] * yes + [False])


@st.composite
def cases(draw: st.DrawFn, method: str) -> Case:
    """A request for one method, of a model on a table for it."""
    kind = read_kind(draw(st.sampled_from(NAMES)))
    columns = draw(_features(kind))
    n_rows = len(next(iter(columns.values())))
    columns |= draw(_others(n_rows))
    options: dict[str, Any] = {"plots": draw(st.sampled_from([False] * 5 + [True]))}
    if kind.is_matrix and draw(_mostly()):
        options["featureColumns"] = list(kind.features)
    if draw(_mostly()):
        columns["y"] = draw(_target(kind, n_rows))
        options["targetColumn"] = "y"
    if draw(_mostly(2)):
        choice = _WEIGHTS[draw(st.sampled_from(sorted(_WEIGHTS)))]
        columns["w"] = [draw(st.sampled_from(choice)) for _ in range(n_rows)]
        options["weightColumn"] = "w"
    if draw(st.integers(0, 9)) == 9:
        options["scale"] = "MARGIN"
    if draw(st.integers(0, 5)) == 5:
        options["outputIndices"] = [draw(st.sampled_from([0, 0, 0, 1, 2]))]
    elif draw(st.integers(0, 3)) == 3:
        options["prediction"] = draw(_predictions(kind))
    if draw(st.integers(0, 5)) == 5:
        options |= {"rowCount": draw(st.integers(2, n_rows)), "seed": draw(st.integers(0, 9))}
    options["engine"] = draw(st.sampled_from(_ENGINES))
    names = (kind.features, tuple(columns), kind.classes, n_rows)
    options["methods"] = [{method: draw(options_of(method, *names))}]
    form = draw(st.sampled_from(["columns", "arrow", "csv"]))
    return Case(kind.content, kind.name, columns, form, options, kind.is_matrix)


@st.composite
def _predictions(draw: st.DrawFn, kind: Kind) -> list[str]:
    """One expression or two over the outputs, continuous and nowhere steep."""
    names = [f"`{name}`" for name in kind.classes] or ["y"]
    texts = ["2 * {} + 1", "{} - {} / 4", "exp({} / 999)", "expm1({} / 999) * 5", "log1p(abs({}))"]
    texts += ["clip({}, -1, 1)", "wide = max({}, {}, 0)"]
    chosen = draw(st.lists(st.sampled_from(texts), min_size=1, max_size=2, unique=True))
    return [
        text.format(*(draw(st.sampled_from(names)) for _ in range(text.count("{}"))))
        for text in chosen
    ]


@st.composite
def _features(draw: st.DrawFn, kind: Kind) -> dict[str, Values]:
    """Rows of the model's own, some of them twice; columns constant, whole, with odd cells."""
    least = st.sampled_from([2, 5, 12])
    taken = draw(
        st.lists(st.integers(0, kind.n_rows - 1), min_size=draw(least), max_size=_MOST_ROWS)
    )
    columns = {name: [values[row] for row in taken] for name, values in kind.columns.items()}
    name = draw(st.sampled_from(kind.features))
    values = columns[name]
    change = draw(st.sampled_from([*4 * ["none"], "constant", "whole", "bool", "odd", "missing"]))
    row = draw(st.integers(0, len(taken) - 1))
    if change == "constant":
        columns[name] = [values[0]] * len(values)
    elif change == "missing":
        values[row] = None
    elif not any(isinstance(value, str) for value in values):
        columns[name] = _changed(values, change, row, draw(st.sampled_from(_ODD)))
    return columns


def _changed(values: Values, change: str, row: int, odd: float) -> Values:
    known = [value for value in values if value is not None] or [0.0]
    if change == "whole":
        return [None if value is None else round(value) for value in values]
    if change == "bool":
        return [value is not None and value > sum(known) / len(known) for value in values]
    if change == "odd":
        return [odd if i == row else value for i, value in enumerate(values)]
    return values


@st.composite
def _others(draw: st.DrawFn, n_rows: int) -> dict[str, Values]:
    """Columns that no model takes: text, booleans and numbers, some of them missing."""
    found: dict[str, Values] = {}
    for name, cells in (
        ("city", ["Bern", "Oslo", "Oslo", None]),
        ("flag", [True, False]),
        ("g", [1.0, 2.0, 3.5, 5.0, 8.0, None]),
    ):
        if draw(_mostly(3)):
            found[name] = [draw(st.sampled_from(cells)) for _ in range(n_rows)]
    return found


@st.composite
def _target(draw: st.DrawFn, kind: Kind, n_rows: int) -> Values:
    """Classes as text or numbers, integers, booleans, fractions."""
    whole: list[Any] = [*range(max(len(kind.classes), 2))]
    choices: dict[str, list[Any]] = {
        "whole": whole,
        "bool": [True, False],
        "fraction": [0.25, 1.0, 3.5, 0.0],
        "text": list(kind.classes) or ["a", "b"],
    }
    usual = ["text", "text", "whole"] if kind.classes else ["fraction", "fraction", "whole"]
    choice = draw(st.sampled_from([*2 * usual, *choices]))
    return [draw(st.sampled_from(choices[choice])) for _ in range(n_rows)]
