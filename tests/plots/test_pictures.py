"""Every plot is valid Vega-Lite, renders, and can be read."""

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from jsonschema_rs import Draft7Validator
from onnxplain_server.methods.interactions import Statistic
from onnxplain_server.methods.partial_dependence import Result
from onnxplain_server.plots import interactions as bars
from onnxplain_server.plots import partial_dependence as effects
from onnxplain_server.plots.elements.chart import Plot

Build = Callable[..., Any]
Draw = Callable[[Plot], list[Any]]

WEIRD = (
    "a.b[0]",
    "quo\"te's",
    "back\\slash",
    "<b>&amp;",
    "größe (m²)",
    "output",
    "value",
    "",
    "constructor",
)
LONG = "a name as long as those that come out of one-hot encoders of free text fields " * 2
NUMBERS = np.linspace(-3, 1234.5, 15)
WORDS = ["flat", "house", "castle in the country with a view of the lake and its own forest"]


def bars_of(
    interactions: Build, statistic: Build, names: Sequence[str], outputs: tuple[str, ...]
) -> tuple[Plot, ...]:
    rng = np.random.default_rng(0)

    def statistics(count: int) -> tuple[Statistic, ...]:
        return tuple(
            statistic(features, rng.uniform(0, 0.5, len(outputs)))
            for features in itertools.combinations(names, count)
        )

    orders = {"overall": statistics(1), "pairwise": statistics(2), "importance": statistics(1)}
    return bars.plots(interactions(outputs, **orders))


def effects_of(
    curve: Build,
    first: list[Any],
    second: list[Any],
    outputs: tuple[str, ...],
    groups: Sequence[str],
) -> tuple[Plot, ...]:
    rng = np.random.default_rng(0)
    grid = (list(first) * len(second), [value for value in second for _ in first])
    curves = [
        curve(features, columns, rng.normal(5e4, 2e4, (len(columns[0]), len(outputs))), group)
        for features, columns in ((("age.x",), (first,)), (("age.x", "kind"), grid))
        for group in groups
    ]
    return effects.plots(Result(outputs, tuple(curves), {"age.x": np.array(first)}))


CLASSES = ("setosa", "versicolor", "virginica")


@pytest.mark.parametrize(
    ("names", "outputs"),
    [
        pytest.param(("only",), CLASSES, id="one"),
        pytest.param(tuple(f"feature {i}" for i in range(30)), CLASSES, id="thirty"),
        pytest.param(WEIRD, CLASSES, id="weird"),
        pytest.param((LONG, f"{LONG}!", "short"), CLASSES, id="long"),
        pytest.param((LONG, *WEIRD), ("price",), id="one output"),
    ],
)
def test_bars_can_be_drawn_and_read(
    interactions: Build,
    statistic: Build,
    check_readable: Callable[[Plot], None],
    names: tuple[str, ...],
    outputs: tuple[str, ...],
) -> None:
    for plot in bars_of(interactions, statistic, names, outputs):
        check_readable(plot)


ALONE, GROUPED = (("price",), ("",)), (("u", "v", "w"), ("(1,2]", "[0,1]"))


@pytest.mark.parametrize(
    ("first", "second", "outputs", "groups"),
    [
        pytest.param([*NUMBERS], [*NUMBERS], *GROUPED, id="numbers"),
        pytest.param([*NUMBERS, np.nan], [1.0, 2.0, np.nan], *GROUPED, id="missing numbers"),
        pytest.param([*WORDS, None], [*NUMBERS], *GROUPED, id="words by numbers"),
        pytest.param([*NUMBERS], [*WORDS, None], *GROUPED, id="numbers by words"),
        pytest.param([*WORDS], [*WEIRD], *GROUPED, id="words"),
        pytest.param([5.0], [7.0], *GROUPED, id="single values"),
        pytest.param([np.nan], [1.0], *GROUPED, id="only missing"),
        pytest.param([0.0, 1.0], [1e-9, 3e12], *GROUPED, id="two values, tiny and huge"),
        pytest.param([*NUMBERS, np.nan], [*NUMBERS], *ALONE, id="numbers of one output"),
        pytest.param([*WORDS, None], [*WEIRD], *ALONE, id="words of one output"),
    ],
)
def test_effects_can_be_drawn_and_read(
    curve: Build,
    check_readable: Callable[[Plot], None],
    first: list[Any],
    second: list[Any],
    outputs: tuple[str, ...],
    groups: tuple[str, ...],
) -> None:
    for plot in effects_of(curve, first, second, outputs, groups):
        check_readable(plot)


def test_every_label_of_thirty_features_that_is_due_is_there(
    interactions: Build, statistic: Build, draw: Draw
) -> None:
    names = tuple(f"feature {i}" for i in range(30))
    plots = bars_of(interactions, statistic, names, ("price",))
    plot = next(plot for plot in plots if plot.name == "overall")

    labels = [text.content for text in draw(plot) if text.content.startswith("feature ")]

    rows = plot.vega_lite["data"]["values"]
    assert labels == [row["label"] for row in rows if row["measure"] == "size"]
    assert len(labels) == 15


def test_the_schema_rejects_what_vega_lite_does_not_know(
    schema: Draft7Validator, interactions: Build, statistic: Build
) -> None:
    """Otherwise the validation above would show nothing."""
    spec = bars_of(interactions, statistic, ("a",), ("y",))[0].vega_lite

    assert schema.is_valid(spec)
    assert not schema.is_valid({**spec, "layer": [{"mark": "barr"}]})
    assert not schema.is_valid({**spec, "encoding": {"yy": {"field": "feature"}}})


@settings(
    max_examples=8,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
@given(st.lists(st.text(max_size=30), min_size=2, max_size=4, unique=True))
def test_any_names_can_be_drawn(
    interactions: Build, statistic: Build, curve: Build, draw: Draw, names: list[str]
) -> None:
    outputs, categories = tuple(names[:2]), names
    drawn = [
        *bars_of(interactions, statistic, names, outputs)[:1],
        *effects_of(curve, categories, [1.0, 2.0], outputs, names[-2:])[:1],
    ]
    for plot in drawn:
        assert plot.title in " ".join(text.content for text in draw(plot))
    assert len({row["x"] for row in drawn[1].vega_lite["data"]["values"]}) == len(categories)
