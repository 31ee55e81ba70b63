"""Runs all benchmarks; each prints its figures beside what is wanted."""

from __future__ import annotations

import black_box
import few_values
import knots

BENCHES = {
    "The black-box engine": black_box.main,
    "Features with few values": few_values.main,
    "Interpolation between knots": knots.main,
}


def main() -> None:
    for title, bench in BENCHES.items():
        print(f"\n{title}\n")
        bench()


if __name__ == "__main__":
    main()
