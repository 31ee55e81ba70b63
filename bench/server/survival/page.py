"""Page of the survival of operations, written from the table of the measurement."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from statistics import median

from bench.server.survival.record import Record, read
from bench.shared.commands import ROOT

PAGE = ROOT / "docs" / "studies" / "survival.md"
LIMIT = 0.1
"""Most work that may be done twice, as a share of the whole."""

_HEAD = """\
# Survival of operations

<!-- Written by `make replica-kills`: change bench/server/survival/page.py, not this page. -->

What becomes of [operations](../long-running.md) whose replica is ended while it computes them. Two
real servers (`onnxplain serve`, isolated workers, one prediction thread each) share one Redis.
`bench/server/replica_kills.py` starts an operation, ends the replica that computes it once a share
of its rows is done, and waits for the answer of the other one. SIGKILL goes to the server and all
its workers; after SIGTERM the server (`ONNXPLAIN_GRACE_SECONDS=0`) puts the operation back, and
ends by itself. Each operation has a caller of its own, so nothing of it is in a cache before.
`make replica-kills` goes on with the ends that the table does not have, and writes this page; its
rows are in `bench/server/survival/replica_kills.csv`.
"""

_HOW = """\
## How it is measured

- **Rows twice** are the rows done at the end of the replica, plus those that the receipt of the
  answer counts as predicted, less those that an operation predicts which was left alone: as a share
  of the latter. Every row of these requests that is done was predicted.
- The rows done are those of the operation's progress, which a replica reports five times per lease,
  here each 0.4 s. The signal is sent within some hundredths of a second of such a report; what was
  predicted since, a call of the model or two of 50 ms each, is lost as well and not counted.
- **Processor time beyond** is that of the worker, by the audit log: of the attempt that gave the
  answer, relative to an operation that was left alone, less the share of the rows that were left to
  it. It holds what rows do not: loading the model again, and what is computed beside predictions.
- **Seconds** are processor seconds of an operation that was left alone, so at least its time on one
  core. Other programs kept the machine busy; the operations took up to ten times as long.
- **Equal**: `bits` where all explanations have the same bits as those of an operation that was left
  alone; `1e-9` where the receipt names operators that round by the size of calls, and numbers are
  equal to that.
"""


def write() -> None:
    """Write the page."""
    PAGE.write_text("\n".join(_lines(read())) + "\n", encoding="utf-8")


def _lines(records: Sequence[Record]) -> Iterator[str]:
    yield _HEAD
    yield from _summary(records)
    yield from ("", _HOW, "## By method and point", "")
    yield (
        "| Method | Model | Rows | Seconds | Point | SIGKILL | SIGTERM | Rows twice, median | most "
        "| Processor time beyond, median | Equal |"
    )
    yield "|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---|"
    for method in dict.fromkeys(each.method for each in records):
        for point in sorted({each.point for each in records}):
            own = [each for each in records if (each.method, each.point) == (method, point)]
            if own:
                yield _line(own)


def _summary(records: Sequence[Record]) -> Iterator[str]:
    methods = len({each.method for each in records})
    equal = sum(each.equal == "bits" for each in records)
    close = sum(each.equal == "1e-9" for each in records)
    over = sum(each.twice > LIMIT for each in records)
    yield (
        f"**{len(records)} ends of a replica, {_count(records, 'SIGTERM')} of them by SIGTERM, "
        f"over {methods} methods: the other replica answered each. {equal} answers are equal in "
        "every bit, "
        f"{close} to 1e-9, {len(records) - equal - close} are different. Rows done twice: "
        f"{_percent(median(each.twice for each in records))} of the whole at the median, "
        f"{_percent(max(each.twice for each in records))} at most; {over} ends above {LIMIT:.0%}.**"
    )


def _line(records: Sequence[Record]) -> str:
    first = records[0]
    seconds = median(each.whole_processor_seconds for each in records)
    cells = (
        *(first.method, first.model, f"{first.whole_rows:,}", f"{seconds:.1f}"),
        *(f"{first.point:.0%}", _count(records, "SIGKILL"), _count(records, "SIGTERM")),
        *(_percent(median(_twice(records))), _percent(max(_twice(records)))),
        _percent(median(each.more_processor for each in records)),
        ", ".join(sorted({each.equal for each in records})),
    )
    return f"| {' | '.join(map(str, cells))} |"


def _twice(records: Iterable[Record]) -> list[float]:
    return [each.twice for each in records]


def _count(records: Iterable[Record], signal: str) -> int:
    return sum(each.signal == signal for each in records)


def _percent(share: float) -> str:
    """Write a share, without the sign of a zero."""
    rounded = math.floor(1_000 * share + 0.5) / 10
    return f"{rounded + 0.0:.1f} %"
