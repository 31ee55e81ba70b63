"""Perturbation: values of a feature as a function of the weight, in the model's precision."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from onnxplain_server.core.arrays import Array, Indices, Vector
from onnxplain_server.methods.swarm.options import Motion, Perturbation


@dataclass(frozen=True, slots=True, eq=False)
class Move:
    """Values as a function of the weight: slope · weight + base, rounded to the model's type.

    Weights have the model's precision too. A product of two float32 numbers is exact in float64,
    so the final rounding gives the float32 product. Rounding is monotone: a value never changes
    direction with the weight, so it passes any threshold once.

    Attributes
    ----------
    slope, base : (n,)
    dtype : numpy dtype
        Type of the model's input.
    """

    slope: Vector
    base: Vector
    dtype: np.dtype[np.generic]

    def __len__(self) -> int:
        return len(self.slope)

    def take(self, rows: Indices) -> Move:
        """Select rows, in this order."""
        return Move(self.slope[rows], self.base[rows], self.dtype)

    def at(self, weights: Array | float) -> Array:
        """Move values by a common weight, or by one per row: (n,)."""
        with np.errstate(over="ignore", invalid="ignore"):
            moved = self.slope * np.asarray(weights, dtype=np.float64) + self.base
            if self.dtype.kind in "iu":
                info = np.iinfo(self.dtype)  # type: ignore[type-var]  # an integer type by its kind
                moved = np.rint(moved).clip(float(info.min), float(info.max))
            return moved.astype(self.dtype)


@dataclass(frozen=True, slots=True, eq=False)
class JointMove:
    """Moves of a feature, or of all features of a group, by a common weight.

    Attributes
    ----------
    features : tuple of int
    moves : tuple of Move
        One per feature, of the same rows.
    """

    features: tuple[int, ...]
    moves: tuple[Move, ...]

    def __len__(self) -> int:
        return len(self.moves[0])

    def take(self, rows: Indices) -> JointMove:
        """Select rows, in this order."""
        return JointMove(self.features, tuple(move.take(rows) for move in self.moves))

    def at(self, weights: Array | float) -> dict[int, Array]:
        """Move values by a common weight, or by one per row: (n,) for each feature."""
        return {j: move.at(weights) for j, move in zip(self.features, self.moves, strict=True)}


def precision(dtype: np.dtype[np.generic]) -> npt.DTypeLike:
    """Return the type of weights for values of a type."""
    return np.float64 if dtype.itemsize == 8 else np.float32


def widest(joint_moves: Sequence[JointMove]) -> npt.DTypeLike:
    """Return the widest type of weights of several features."""
    kinds = (precision(move.dtype) for joint in joint_moves for move in joint.moves)
    return max(kinds, key=lambda kind: np.dtype(kind).itemsize)


def scaled(column: Array, motion: Motion, *, has_zeros: bool) -> Move:
    """Multiply values by the weight.

    Parameters
    ----------
    column : (n,)
        In the model's type.
    has_zeros : bool
        Whether the feature contains zeros in any row, which requires the offset.
    """
    values = column.astype(np.float64)
    offset = motion.zero_offset if has_zeros else 0.0
    return Move(values + offset, np.full(len(values), -offset), column.dtype)


def shaken(column: Array, spread: float, draws: Vector) -> Move:
    """Add Gaussian noise with a standard deviation of `spread` times the weight.

    Parameters
    ----------
    column : (n,)
        In the model's type.
    spread : float
        Standard deviation of the feature.
    draws : (n,)
        Standard normal numbers.
    """
    return Move(spread * draws, column.astype(np.float64), column.dtype)


def moves(motion: Motion, column: Array, rows: Indices, random: np.random.Generator) -> Move:
    """Prepare a feature to be moved in some rows.

    Parameters
    ----------
    column : (n,)
        All rows, in the model's type.
    rows : (n_moved,)
    random : Generator
        Seeded by feature; draws cover all rows, so a row's noise does not depend on the others.
    """
    match motion.perturbation:
        case Perturbation.MULTIPLICATION:
            return scaled(column[rows], motion, has_zeros=bool((column == 0).any()))
        case Perturbation.GAUSSIAN:
            draws = random.standard_normal(len(column))
            spread = float(np.nanstd(column.astype(np.float64)))
            return shaken(column[rows], spread, draws[rows])
