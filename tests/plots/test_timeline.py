"""Timelines: values of kept answers over time, with the interval of each."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest
from onnxplain_server.methods.changes.matching import KeptStatistics
from onnxplain_server.methods.resampling import ReplicatedStatistic
from onnxplain_server.plots.changes.timeline import TimedStatistics, timelines

START = datetime(2026, 12, 1, 6, tzinfo=UTC)


def run(day: int, values: dict[str, float], kind: str = "IMPORTANCE") -> TimedStatistics:
    """An answer whose replicates lie 0.01 to either side of its values."""
    around = 0.01 * np.tile([[1.0], [-1.0]], (100, 1))
    statistics = [
        ReplicatedStatistic.of_numbers(
            kind, tuple(filter(None, [name])), value + np.vstack([[[0.0]], around]), 500.0
        )
        for name, value in values.items()
    ]
    own = KeptStatistics(("price",), tuple(statistics))
    return TimedStatistics(START + timedelta(days=day), [own])


def test_each_run_has_its_value_and_its_interval(check_readable) -> None:
    (plot,) = timelines([run(0, {"zip": 0.1, "age": 0.3}), run(2, {"zip": 0.5, "age": 0.2})])

    check_readable(plot)
    assert plot.name == "timeline-importance-price"
    assert plot.title == "Importances over time for price"
    rows = plot.vega_lite["data"]["values"]
    assert [(row["at"], row["series"], row["value"]) for row in rows] == [
        ("2026-12-01T06:00:00Z", "zip", 0.1),
        ("2026-12-01T06:00:00Z", "age", 0.3),
        ("2026-12-03T06:00:00Z", "zip", 0.5),
        ("2026-12-03T06:00:00Z", "age", 0.2),
    ]
    # Student's t of 199 degrees of freedom at 0.975 is 1.972.
    assert rows[2]["high"] - 0.5 == pytest.approx(1.972 * 0.01, rel=0.01)
    assert 0.5 - rows[2]["low"] == pytest.approx(1.972 * 0.01, rel=0.01)


def test_intervals_of_importances_end_at_0() -> None:
    (plot,) = timelines([run(0, {"zip": 0.01}), run(1, {"zip": 0.01})])
    (loss,) = timelines([run(day, {"": 0.01}, "AVERAGE_LOSS") for day in range(2)])

    assert plot.vega_lite["data"]["values"][0]["low"] == 0
    assert loss.vega_lite["data"]["values"][0]["low"] < 0


def test_the_features_that_lead_the_last_run_are_drawn(check_readable) -> None:
    first = {"gone": 0.9, **{f"a rather long name of a feature {i}": 0.1 for i in range(8)}}
    last = {f"a rather long name of a feature {i}": 0.1 + 0.05 * i for i in range(9)}
    (plot,) = timelines([run(0, first), run(1, last)])

    check_readable(plot)
    assert "The 5 largest of 9 at the last run." in plot.description
    drawn = [(row["at"][8:10], row["series"][-1]) for row in plot.vega_lite["data"]["values"]]
    assert sorted(drawn) == [*(("01", i) for i in "4567"), *(("02", i) for i in "45678")]


def test_losses_are_drawn_and_one_run_is_no_timeline(check_readable) -> None:
    runs = [run(day, {"": 1.0 + day}, "AVERAGE_LOSS") for day in range(3)]
    (plot,) = timelines(runs)

    check_readable(plot)
    assert [row["series"] for row in plot.vega_lite["data"]["values"]] == ["all"] * 3
    assert timelines(runs[:1]) == ()


@pytest.mark.parametrize("apart", [timedelta(days=1), timedelta(minutes=9), timedelta(seconds=3)])
def test_ticks_stand_at_runs_and_tell_them_apart(apart) -> None:
    start = START.replace(microsecond=900_000)
    runs = [run(0, {"zip": 0.1})._replace(at=start + k * apart) for k in range(4)]
    (plot,) = timelines(runs)

    axis = plot.vega_lite["layer"][1]["encoding"]["x"]["axis"]
    times = [datetime.fromtimestamp(value / 1000, UTC) for value in axis["values"]]
    assert [f"{time:%Y-%m-%dT%H:%M:%S}Z" for time in times] == [
        row["at"] for row in plot.vega_lite["data"]["values"]
    ]
    assert len({f"{time:{axis['format']}}" for time in times}) == 4
