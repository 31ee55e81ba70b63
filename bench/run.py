"""Runs all benchmarks; each prints its figures beside what is wanted."""

from __future__ import annotations

import black_box
import cancel
import feature_vectors
import few_values
import firm
import first_use
import intervals
import isolation
import knots
import load
import rivals
import swarm
import trees
import woodelf_miami

import clients

BENCHES = {
    "The black-box engine": black_box.main,
    "Features with few values": few_values.main,
    "Interpolation between knots": knots.main,
    "The trees engine": trees.main,
    "The trees engine beside others": rivals.main,
    "The trees engine beside WOODELF": woodelf_miami.main,
    "Intervals": intervals.main,
    "The trees engine's first use": first_use.main,
    "Feature vectors": feature_vectors.main,
    "FIRM": firm.main,
    "The swarm": swarm.main,
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
