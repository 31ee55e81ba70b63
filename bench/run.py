"""Runs all benchmarks; each prints its figures beside what is wanted."""

from __future__ import annotations

import black_box
import feature_vectors
import swarm

BENCHES = {
    "The black-box engine": black_box.main,
    "Feature vectors": feature_vectors.main,
    "The swarm": swarm.main,
}


def main() -> None:
    for title, bench in BENCHES.items():
        print(f"\n{title}\n")
        bench()


if __name__ == "__main__":
    main()
