"""Coverage of the intervals of H²_jk for pairs of weak effects, of a normal and a 0/1 feature.

Functions are sums of products of a normal x, a 0/1 b and a normal c, so that partial dependence
under weights follows from weighted means, and the truth from the coefficients. `--write` writes
docs/studies/intervals.md.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

import numpy as np
from onnxplain_server.core.arrays import Matrix, Vector
from onnxplain_server.effects.weighted_mean import center, mean_square
from onnxplain_server.methods.interactions.result import ratio
from onnxplain_server.methods.resampling import (
    ReplicateSpread,
    Resampling,
    allow_for_chance,
    chance_shares,
    spread,
)

PAGE = Path("docs/studies/intervals.md")
_BEGIN, _END = "<!-- weak -->", "<!-- end of weak -->"
_RESAMPLING = Resampling(100, confidence_level=0.9)
_DRAWS = {500: 300, 2_000: 100}


class Problem(NamedTuple):
    """The function x c xc + b c bc + x b pair + (x + b) alone, with the share of ones in b."""

    xc: float
    bc: float
    pair: float
    alone: float
    ones: float

    @property
    def words(self) -> str:
        """The function, for the table."""
        terms = {"xc": self.xc, "bc": self.bc, "xb": self.pair, "(x + b)": self.alone}
        text = " + ".join(f"{v:g} {k}" if v != 1 else k for k, v in terms.items() if v)
        return f"{text}, {self.ones:.0%} ones"

    @property
    def truth(self) -> float:
        """H² of x and b."""
        variance = self.ones * (1 - self.ones)
        numerator = self.pair**2 * variance
        main = (self.pair * self.ones + self.alone) ** 2 + self.alone**2 * variance
        return numerator / (numerator + main)


PROBLEMS = (
    Problem(1, 1, 0.5, 0.5, 0.5),
    Problem(1, 0, 0.15, 0, 0.5),
    Problem(1, 0, 0.05, 0, 0.5),
    Problem(0, 1, 0.02, 0, 0.5),
    Problem(1, 1, 0.05, 0.02, 0.5),
    Problem(1, 0, 0.05, 0, 0.1),
)


def parts(problem: Problem, x: Vector, b: Vector, c: Vector, weights: Matrix) -> list[Matrix]:
    """Return numerators and denominators under weights: (n_sets, 1) each."""
    shares = weights / weights.sum(axis=1, keepdims=True)
    mean_b, mean_c, mean_x = ((shares @ v)[:, None] for v in (b, c, x))
    of_x = x * (problem.xc * mean_c + problem.pair * mean_b + problem.alone)
    of_b = b * (problem.bc * mean_c + problem.pair * mean_x + problem.alone)
    own = problem.xc * x * mean_c + problem.bc * b * mean_c + problem.alone * (x + b)
    whole = own + problem.pair * x * b
    effects = (effect[..., None] for effect in (whole - of_x - of_b, whole))
    return [mean_square(center(effect, shares), shares) for effect in effects]


def covered(problem: Problem, row_count: int, seed: int) -> tuple[bool, bool, bool]:
    """Return whether the usual and the wider interval have the truth, and whether it is warned."""
    random = np.random.default_rng([row_count, seed])
    x, c = random.normal(size=(2, row_count))
    b = (random.random(row_count) < problem.ones).astype(float)
    drawn = random.poisson(1, (_RESAMPLING.repeat_count, row_count))
    numerators, denominators = parts(problem, x, b, c, np.vstack([np.ones(row_count), drawn]))
    omitted = np.zeros(len(drawn))

    def spread_of(values: Matrix) -> ReplicateSpread:
        return spread(_RESAMPLING, values[0], values[1:], omitted, row_count)

    usual = spread_of(ratio(numerators, denominators))
    shares = chance_shares(_RESAMPLING, denominators[0], denominators[1:], omitted)
    wider = allow_for_chance(usual, numerators[0], spread_of(denominators), shares)
    inside = [bool(s.lower[0] <= problem.truth <= s.upper[0]) for s in (usual, wider)]
    return inside[0], inside[1], bool(shares.any())


def table() -> str:
    """Measure, and return the table."""
    names = ("not widened", "90 % intervals", "warned")
    head = [f"{name}, {rows:,} rows" for rows in _DRAWS for name in names]
    lines = ["| Function | " + " | ".join(head) + " |", "| --- |" + " ---: |" * len(head)]
    for problem in PROBLEMS:
        cells = [
            f"{100 * share:.0f} %"
            for rows, draws in _DRAWS.items()
            for share in np.mean([covered(problem, rows, seed) for seed in range(draws)], axis=0)
        ]
        lines.append(f"| {problem.words} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Print the table, or write it."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--write", action="store_true")
    is_written, text = arguments.parse_args().write, table()
    print(text)
    if is_written:
        before, rest = PAGE.read_text().split(_BEGIN, 1)
        after = rest.split(_END, 1)[1]
        PAGE.write_text(f"{before}{_BEGIN}\n\n{text}\n\n{_END}{after}")


if __name__ == "__main__":
    main()
