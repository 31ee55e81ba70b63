"""What a weight makes of the values of a feature, in the numbers that the model sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.methods.swarm.options import Motion, Perturbation


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """Values as a function of the weight: slope · weight + base, rounded to the model's numbers.

    Weights have the model's precision too. A product of two float32 numbers is exact in float64,
    so that what is rounded at the end is the float32 product. No rounding turns the order of
    values around: with the weight a value only ever rises, or only ever falls, and so passes
    any threshold once.

    Attributes
    ----------
    slope, base : (n,)
    dtype : numpy dtype
        In which the model takes the values.
    """

    slope: Vector
    base: Vector
    dtype: np.dtype[np.generic]

    def __len__(self) -> int:
        return len(self.slope)

    def take(self, rows: Indices) -> Move:
        """Keep these rows, in this order."""
        return Move(self.slope[rows], self.base[rows], self.dtype)

    def at(self, weights: Array | float) -> Array:
        """Move values by one weight, or by one each: (n,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            moved = self.slope * np.asarray(weights, dtype=np.float64) + self.base
            if self.dtype.kind in "iu":
                info = np.iinfo(self.dtype)  # type: ignore[type-var]  # known to be one of integers
                moved = np.rint(moved).clip(float(info.min), float(info.max))
            return moved.astype(self.dtype)


def precision(dtype: np.dtype[np.generic]) -> npt.DTypeLike:
    """Return the type of weights for values of a type."""
    return np.float64 if dtype.itemsize == 8 else np.float32


def widest(moves: Sequence[Move]) -> npt.DTypeLike:
    """Return the type of weights that is precise enough for each of several features."""
    return max((precision(move.dtype) for move in moves), key=lambda kind: np.dtype(kind).itemsize)


def scaled(column: Array, motion: Motion, *, has_zeros: bool) -> Move:
    """Multiply values by the weight.

    Parameters
    ----------
    column : (n,)
        In the model's type.
    has_zeros : bool
        Whether the feature has zeros anywhere, so that the offset is needed.
    """
    values = column.astype(np.float64)
    offset = motion.zero_offset if has_zeros else 0.0
    return Move(values + offset, np.full(len(values), -offset), column.dtype)


def shaken(column: Array, spread: float, draws: Vector) -> Move:
    """Add Gaussian numbers, `spread` times the weight wide.

    Parameters
    ----------
    column : (n,)
        In the model's type.
    spread : float
        Standard deviation of the feature.
    draws : (n,)
        From the standard Gaussian.
    """
    return Move(spread * draws, column.astype(np.float64), column.dtype)


def moves(motion: Motion, column: Array, rows: Indices, random: np.random.Generator) -> Move:
    """Prepare a feature to be moved in some rows.

    Parameters
    ----------
    column : (n,)
        Of all rows, in the model's type.
    rows : (n_moved,)
    random : Generator
        Of the feature; for all rows alike, so that a row is moved alike with any others.
    """
    if motion.perturbation is Perturbation.GAUSSIAN:
        draws = random.standard_normal(len(column))
        spread = float(np.nanstd(column.astype(np.float64)))
        return shaken(column[rows], spread, draws[rows])
    return scaled(column[rows], motion, has_zeros=bool((column == 0).any()))
