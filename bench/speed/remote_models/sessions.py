"""Remote models through a real server: what its sessions add to the calls.

The model takes 10 ms for 2,000 rows (`slow_server.py`). Rows per second of an explanation by
`onnxplain serve`, all of the request included, beside those of a bare client with the same number
of calls at a time; then seconds of small requests, and the connections that these made.
"""

from __future__ import annotations

import io
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from urllib.request import urlopen

import numpy as np
import onnxplain

from bench.server.server_process import served
from bench.speed.remote_models import calls
from bench.speed.remote_models.slow_server import COLUMNS
from bench.speed_table.row import Row, Unit, in_turn, lines, seconds

RUNS = 5
TABLE_ROWS = 500
SMALL_REQUESTS = 100


@contextmanager
def asked(port: int) -> Iterator[onnxplain.Client]:
    """Run a server that may ask the model; yield a client of it."""
    with tempfile.TemporaryDirectory() as folder:
        listed = Path(folder) / "remote.toml"
        entry = f'[[remote_model]]\nprefix = "{_address(port)}"\ncalls = {calls.AT_A_TIME}\n'
        listed.write_text(entry, encoding="utf-8")
        with served(remote_models_file=listed) as server, onnxplain.connect(server.endpoint) as one:
            yield one


def _address(port: int) -> str:
    return f"http://127.0.0.1:{port}"


def table() -> bytes:
    text = io.StringIO()
    names = ",".join(f"x{j}" for j in range(COLUMNS))
    values = np.random.default_rng(3).normal(size=(TABLE_ROWS, COLUMNS))
    np.savetxt(text, values, delimiter=",", header=names, comments="", fmt="%.17g")
    return text.getvalue().encode()


def explained_rate(client: onnxplain.Client, port: int) -> float:
    """Return rows per second of all pairs of features."""
    model = onnxplain.RemoteModel(_address(port), "m")
    rows = 0.0

    def explain() -> None:
        nonlocal rows
        answer = client.explain(model, table(), onnxplain.Interactions(), plots=False)
        rows = answer.message.receipt.predicted_row_count

    return seconds(explain) ** -1 * rows


def small_requests(client: onnxplain.Client, port: int) -> str:
    """Tell the time of small requests, and their connections."""
    model = onnxplain.RemoteModel(_address(port), "m")
    curve = onnxplain.PartialDependence(features=["x1"], grid_size=2)
    content = table()

    def explain() -> None:
        client.explain(model, content, curve, row_count=20, plots=False)

    explain()
    before = _connections(port)
    taken = [seconds(explain) for _ in range(SMALL_REQUESTS)]
    made = _connections(port) - before - 1
    return f"{SMALL_REQUESTS} small requests: {median(taken):.4f} s each, {made} connections"


def _connections(port: int) -> int:
    with urlopen(f"{_address(port)}/connections") as answer:  # noqa: S310 - of this host
        return int(answer.read())


def rows(client: onnxplain.Client, port: int) -> Iterator[Row]:
    ours, theirs = in_turn(
        lambda: explained_rate(client, port), lambda: calls.rate(calls.plain_bytes(port)), RUNS
    )
    work = f"Interactions of a remote model through a server, {TABLE_ROWS} rows, {COLUMNS} features"
    yield Row(work, Unit.PER_SECOND, ours, "bare urllib3", theirs, calls.WANTED)


def main() -> None:
    with calls.server() as (_, port, _), asked(port) as client:
        for line in lines(rows(client, port)):
            print(line)
        print(small_requests(client, port))


if __name__ == "__main__":
    main()
