"""Speed table: what a row's figures say."""

import pytest

from bench.speed_table import page
from bench.speed_table.parts import BENCHMARKS, Part
from bench.speed_table.result import Machine, Result, read_result
from bench.speed_table.row import Row, Unit, in_turn


def test_page_and_readme_are_what_the_result_gives() -> None:
    for path, text in page.written(read_result()).items():
        assert path.read_text(encoding="utf-8") == text, "run `python -m bench.speed_table.page`"


def test_every_part_is_measured() -> None:
    assert list(read_result().parts) == list(BENCHMARKS)


def row(unit: Unit, ours: list[float], theirs: list[float], wanted: float | None = None) -> Row:
    return Row("work", unit, ours, "counterpart", theirs, wanted)


def test_less_time_and_a_higher_rate_are_better() -> None:
    assert row(Unit.SECONDS, [2.0], [6.0]).ratio == 3.0
    assert row(Unit.MEGABYTES, [2.0], [6.0]).ratio == 3.0
    assert row(Unit.PER_SECOND, [6.0], [2.0]).ratio == 3.0


def test_ratios_are_those_of_runs_in_turn_not_of_medians() -> None:
    """By turns a machine is fast and slow for both."""
    found = row(Unit.SECONDS, [1.0, 10.0, 3.0], [2.0, 20.0, 9.0])

    assert found.ratios == [2.0, 2.0, 3.0]
    assert found.ratio == 2.0


def test_a_side_of_one_run_stands_beside_each_run_of_the_other() -> None:
    assert row(Unit.SECONDS, [1.0, 2.0, 4.0], [8.0]).ratios == [8.0, 4.0, 2.0]


def test_a_wanted_ratio_is_met_if_every_run_reaches_it() -> None:
    assert row(Unit.SECONDS, [1.0, 1.0], [3.0, 5.0], wanted=3.0).is_met is True
    assert row(Unit.SECONDS, [1.0, 1.0], [2.9, 5.0], wanted=3.0).is_met is False
    assert row(Unit.SECONDS, [1.0, 1.0], [3.0, 5.0]).is_met is None


@pytest.mark.parametrize(
    ("ours", "theirs"),
    [([], []), ([1.0], []), ([1.0, 2.0], [1.0, 2.0, 3.0]), ([0.0], [1.0]), ([1.0], [float("nan")])],
)
def test_figures_without_a_ratio_are_refused(ours: list[float], theirs: list[float]) -> None:
    with pytest.raises(ValueError, match=r"^work: "):
        row(Unit.SECONDS, ours, theirs)


def test_both_sides_run_in_turn() -> None:
    order: list[str] = []

    def ours() -> float:
        order.append("ours")
        return 1.0

    def theirs() -> float:
        order.append("theirs")
        return 2.0

    assert in_turn(ours, theirs, 2) == ([1.0, 1.0], [2.0, 2.0])
    assert order == ["ours", "theirs"] * 2


def test_parts_of_another_machine_or_version_are_not_kept() -> None:
    part = Part([row(Unit.SECONDS, [1.0], [2.0])], "2026-11-23 06:00", 1.0, 0.0)
    first, second = list(BENCHMARKS)[:2]
    here = Machine("2 cores", {"numpy": "2.4.6"})
    newer = Machine("2 cores", {"numpy": "2.5.0"})

    both = Result(None, {}).with_part(second, part, here).with_part(first, part, here)

    assert list(both.parts) == [first, second]
    assert list(both.with_part(first, part, newer).parts) == [first]


def test_only_rows_with_a_headline_are_in_the_readme() -> None:
    shown = Row("long", Unit.SECONDS, [0.0204], "their library", [8.3], headline="Short")
    hidden = row(Unit.SECONDS, [1.0], [2.0])
    part = Part([shown, hidden], "2026-11-23 06:00", 1.0, 0.0)
    result = Result(Machine("2 cores", {}), {next(iter(BENCHMARKS)): part})

    texts = page.written(result)

    assert "| Short | 20.4\u00a0ms | their library | 8.3\u00a0s | 407 |" in texts[page.README]
    assert "| work |" not in texts[page.README]
    assert "| work |" in texts[page.PAGE]
