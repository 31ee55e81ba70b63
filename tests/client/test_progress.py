"""The bar: where somebody may see it, and nowhere else."""

import io
import sys

import onnxplain
import pytest
from onnxplain.progress import bar

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

    client.explain(b"", ROWS, progress=True)

    assert lines(terminal.getvalue()) == [
        "[                              ] 0% of at most 100 rows",
        "[===============               ] 50% of at most 100 rows",
        "[==============================] 100% of at most 100 rows",
    ]
    last_width = len(lines(terminal.getvalue())[-1])
    assert terminal.getvalue().endswith("\r" + " " * last_width + "\r")


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
    assert first.endswith("50% of at most 2 rows")
    assert last.isspace()


def test_a_bar_is_no_wider_than_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("COLUMNS", "20")
    with bar() as tell:
        assert tell
        tell(1, 2)
    assert max(len(line) for line in terminal.getvalue().split("\r")) == 19


@pytest.mark.parametrize("progress", [True, False, None])
def test_a_pipeline_sees_no_bar(
    client: onnxplain.Client, capsys: pytest.CaptureFixture[str], progress: bool | None
) -> None:
    client.explain(b"", ROWS, progress=progress)
    assert capsys.readouterr() == ("", "")
