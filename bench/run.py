"""Runner of all benchmarks; each prints its figures beside the targets."""

from __future__ import annotations

from bench.accuracy import intervals, knots
from bench.server import cancel, clients, isolation, load
from bench.speed import (
    black_box,
    command,
    competitors,
    feature_vectors,
    few_values,
    firm,
    first_use,
    many_rows,
    r_packages,
    sources,
    swarm,
    trees,
    woodelf_miami,
)
from bench.speed.remote_models import calls as remote_calls

BENCHES = {
    "The command line": command.main,
    "The black-box engine": black_box.main,
    "Features with few values": few_values.main,
    "Interpolation between knots": knots.main,
    "The trees engine": trees.main,
    "The trees engine beside others": competitors.main,
    "The trees engine beside WOODELF": woodelf_miami.main,
    "The trees engine beside WOODELF, many rows": many_rows.main,
    "The trees engine beside packages of R": r_packages.main,
    "Intervals": intervals.main,
    "The trees engine's first use": first_use.main,
    "Feature vectors": feature_vectors.main,
    "FIRM": firm.main,
    "The swarm": swarm.main,
    "Tables from S3": sources.main,
    "Remote models": remote_calls.main,
    "Isolation": isolation.main,
    "Clients": clients.main,
    "Clients that leave": cancel.main,
    "Load": load.main,
}


def main() -> None:
    for title, bench in BENCHES.items():
        print(f"\n{title}\n")
        bench()


if __name__ == "__main__":
    main()
