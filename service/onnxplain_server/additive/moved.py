"""Features that are moved from what rows have to points, and what sums are made of then."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from onnxplain_server.core.arrays import Cube, Indices, Matrix


class Cross(NamedTuple):
    """Terms of a pair of which one feature is moved: table[row_kinds_i, point_kinds_p].

    Attributes
    ----------
    row_kinds : (n_rows,)
        Of the feature that stays.
    point_kinds : (n_points,)
        Of the feature that is moved.
    table : (n_kinds, n_kinds, n_sums)
    """

    row_kinds: Indices
    point_kinds: Indices
    table: Cube

    def at(self, points: Indices | slice) -> Cross:
        """Choose points."""
        return self._replace(point_kinds=self.point_kinds[points])


class Moved(NamedTuple):
    """Features moved to points: rows i at points p have the sums rests_i + points_p and crosses.

    Attributes
    ----------
    rests : (n, n_sums)
        Sums of the rows without all terms of these features.
    points : (n_points, n_sums)
        Sums of the terms of these features alone, at the points.
    crosses : list of Cross
        Terms of these features with others.
    """

    rests: Matrix
    points: Matrix
    crosses: list[Cross]

    def at(self, points: Indices | slice) -> Moved:
        """Choose points, also several times."""
        crosses = [cross.at(points) for cross in self.crosses]
        return Moved(self.rests, self.points[points], crosses)

    def pairwise(self) -> Cube:
        """Move each row to each point: (n, n_points, n_sums)."""
        sums = self.rests[:, np.newaxis] + self.points
        for row_kinds, point_kinds, table in self.crosses:
            sums += table[row_kinds[:, np.newaxis], point_kinds]
        return sums

    def row_by_row(self) -> Matrix:
        """Move each row to the point of its number: (n, n_sums)."""
        sums = self.rests + self.points
        for row_kinds, point_kinds, table in self.crosses:
            sums += table[row_kinds, point_kinds]
        return sums
