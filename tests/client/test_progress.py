"""Progress bar: in terminals and notebooks, and nowhere else."""

import io
import os
import pty
import subprocess
import sys
from contextlib import suppress

import onnxplain
import pytest
from onnxplain.progress import TimeLeft, bar, spell_time

ROWS = {"age": [20.0, 30.0]}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def lines(text: str) -> list[str]:
    """Split what was drawn over itself."""
    return [line.rstrip() for line in text.split("\r") if line.strip()]


def test_a_terminal_shows_a_bar_that_leaves_no_trace(
    client: onnxplain.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    client.explain(b"", ROWS)

    assert lines(terminal.getvalue()) == [
        "[                              ] 0% of the work planned at most",
        "[===============               ] 50% of the work planned at most",
        "[==============================] 100% of the work planned at most",
    ]
    last_width = len(lines(terminal.getvalue())[-1])
    assert terminal.getvalue().endswith("\r" + " " * last_width + "\r")


def test_a_process_in_a_terminal_shows_a_bar_by_default(server) -> None:
    """With a real pseudo-terminal, as standard error alone."""
    code = f"""
import onnxplain
with onnxplain.connect({server.endpoint!r}) as client:
    client.explain(b"", {{"age": [20.0, 30.0]}})
"""
    leader, follower = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", code], stderr=follower)
    os.close(follower)
    shown = b""
    # A pseudo-terminal without writers ends in an error.
    with suppress(OSError):
        while part := os.read(leader, 1_000):
            shown += part
    os.close(leader)

    assert process.wait() == 0, shown.decode()
    assert "100% of the work planned at most" in lines(shown.decode())[-1]


def fail_halfway() -> None:
    with bar() as tell:
        assert tell
        tell(0, 0)
        tell(1, 2)
        raise TimeoutError


def test_the_bar_goes_away_where_the_call_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    with pytest.raises(TimeoutError):
        fail_halfway()

    first, *_, last = terminal.getvalue().strip("\r").split("\r")
    assert first.endswith("50% of the work planned at most")
    assert last.isspace()


def test_a_bar_is_no_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "20")
    with bar() as tell:
        assert tell
        tell(1, 2)
    assert max(len(line) for line in terminal.getvalue().split("\r")) == 19


@pytest.mark.parametrize("progress", [True, False])
def test_a_pipeline_sees_no_bar(
    client: onnxplain.Client, capsys: pytest.CaptureFixture[str], progress: bool
) -> None:
    client.explain(b"", ROWS, progress=progress)
    assert capsys.readouterr() == ("", "")


def test_a_terminal_shows_no_bar_that_was_switched_off(
    client: onnxplain.Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)

    client.explain(b"", ROWS, progress=False)

    assert terminal.getvalue() == ""


def test_calls_at_a_time_share_a_terminal_with_one_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stderr", Terminal())

    with bar() as first:
        assert first
        with bar() as second:
            assert second is None
    with bar() as third:
        assert third


def test_the_time_left_follows_the_last_seconds_and_not_what_the_cache_gave_before() -> None:
    """1,000 rows at once from the cache, then 10 a second."""
    now = 0.0
    left = TimeLeft(clock=lambda: now)
    assert left(1_000, 1_500) is None
    for second in range(1, 21):
        now = float(second)
        told = left(1_000 + 10 * second, 1_500)

    assert told == pytest.approx((500 - 200) / 10)


def test_the_time_left_follows_a_plan_that_falls_and_work_that_gets_slower() -> None:
    now = 0.0
    left = TimeLeft(clock=lambda: now)
    left(0, 2_000)
    for second in range(1, 41):
        now = float(second)
        rows = 100 * min(second, 20) + 10 * max(second - 20, 0)
        told = left(rows, 4_000 if second < 40 else 3_000)

    assert told == pytest.approx((3_000 - 2_200) / 10)


def test_no_time_is_told_before_anything_was_measured() -> None:
    now = 0.0
    left = TimeLeft(clock=lambda: now)

    left(0, 10)
    now = 0.5
    assert left(5, 10) is None
    now = 30.0
    assert left(5, 10) == pytest.approx(30.0)
    assert TimeLeft(clock=lambda: now)(0, 10) is None


@pytest.mark.parametrize(
    ("seconds", "text"), [(0, "0:00"), (59.2, "1:00"), (200, "3:20"), (3_600 + 61, "1:01:01")]
)
def test_a_time_is_written_in_minutes_and_seconds(seconds: float, text: str) -> None:
    assert spell_time(seconds) == text
