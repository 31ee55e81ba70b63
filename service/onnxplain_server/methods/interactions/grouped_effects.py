"""Grouped effects: an engine's effects with groups of features as one feature each."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations

import numpy as np

from onnxplain_server.core.arrays import Array, Matrix, Vector
from onnxplain_server.effects.background import Background
from onnxplain_server.effects.engine import (
    Effects,
    Group,
    Joint,
    Single,
    UnusedFeatures,
    pure_effect,
)


class GroupedEffects:
    """Effects of players, each a feature or a group of features that count as one.

    Features in the calls are positions of players. Players of one feature have the effects of the
    engine. The background has the columns of the features.

    Parameters
    ----------
    engine : Effects
    players : sequence of tuples of int
        Features of each player; all together may be fewer than all.
    has_triples : bool
        Whether effects of three players are asked for, which need those of pairs.
    """

    def __init__(self, engine: Effects, players: Sequence[Group], *, has_triples: bool) -> None:
        self._engine = engine
        self._players = players
        self._has_triples = has_triples
        unused = engine.unused if isinstance(engine, UnusedFeatures) else frozenset()
        used = [tuple(j for j in player if j not in unused) for player in players]
        self._used = [own or player[:1] for own, player in zip(used, players, strict=True)]
        self._unused = frozenset(p for p, own in enumerate(used) if not own)
        self._effects: dict[Group, Array] = {}
        self._weights: Matrix | None = None

    @property
    def background(self) -> Background:
        """The rows, with a column for each feature."""
        return self._engine.background

    @property
    def output_names(self) -> tuple[str, ...]:
        """Names of the outputs."""
        return self._engine.output_names

    def outputs(self) -> Matrix:
        """Predict the rows: (n_rows, n_outputs)."""
        return self._engine.outputs()

    def rounding_error(self) -> Vector:
        """Bound of the rounding error of an effect: (n_outputs,)."""
        return self._engine.rounding_error()

    def batches(self, weights: Array) -> Iterator[Array]:
        """Split weights into batches, as the engine does."""
        return self._engine.batches(weights)

    def batch_count(self, replicate_count: int) -> int:
        """Return the number of batches."""
        return self._engine.batch_count(replicate_count)

    def restrict(self, background: Background) -> GroupedEffects:
        """Return the same on other rows."""
        return self._with(self._engine.restrict(background))

    def for_joint(self, order: int) -> GroupedEffects:
        """Return the same on the rows of joint effects."""
        engine = self._engine.for_joint(order)
        return self if engine is self._engine else self._with(engine)

    def _with(self, engine: Effects) -> GroupedEffects:
        return GroupedEffects(engine, self._players, has_triples=self._has_triples)

    def cost(self, features: Sequence[int]) -> int:
        """Bound the rows to predict for players together."""
        return self._engine.cost(self._union(features))

    def pair_allowance(self) -> float:
        """Return how many pairs take little time."""
        return self._engine.pair_allowance()

    def release(self, rows: int) -> None:
        """Release a plan of `rows` rows."""
        self._engine.release(rows)

    def single(self, features: Sequence[int], weights: Matrix | None = None) -> Iterator[Single]:
        """Compute effects of single players."""
        self._forget(weights)
        alone = [self._used[p][0] for p in features if self._is_feature(p)]
        singles = self._engine.single(alone, weights)
        groups = [self._used[p] for p in features if not self._is_feature(p)]
        grouped = self._engine.own_and_others(groups, weights)
        for p in features:
            if self._is_feature(p):
                single = replace(next(singles), feature=p)
            else:
                single = Single(p, *next(grouped))
            self._effects[p,] = single.own
            yield single

    def joint(self, groups: Sequence[Group], weights: Matrix | None = None) -> Iterator[Joint]:
        """Compute effects of several players."""
        self._forget(weights)
        used = [group for group in groups if not self._unused.intersection(group)]
        features = [self._union(group) for group in used if all(map(self._is_feature, group))]
        joints = self._engine.joint(features, weights)
        for group in groups:
            if self._unused.intersection(group):
                yield self._joint_unused(group)
            elif all(map(self._is_feature, group)):
                joint = replace(next(joints), features=group)
                self._effects[group] = joint.whole
                yield joint
            else:
                parts = (
                    part for size in range(1, len(group)) for part in combinations(group, size)
                )
                for part in (*parts, group):
                    self._whole(part, weights)
                yield Joint(group, self._effects[group], pure_effect(group, self._effects))
            if not self._has_triples:
                del self._effects[group]

    def _whole(self, group: Group, weights: Matrix | None) -> Array:
        """Return the effect of players together, which may be known."""
        if group not in self._effects:
            (self._effects[group],) = self._engine.wholes([self._union(group)], weights)
        return self._effects[group]

    def _joint_unused(self, group: Group) -> Joint:
        """Return the effect of the players that are used, without a pure part."""
        used = tuple(p for p in group if p not in self._unused)
        whole = self._effects[used or group[:1]]
        self._effects[group] = whole
        return Joint(group, whole, np.zeros_like(whole))

    def _forget(self, weights: Matrix | None) -> None:
        """Forget the effects under other weights."""
        if self._weights is not weights:
            self._effects, self._weights = {}, weights

    def _is_feature(self, player: int) -> bool:
        return len(self._used[player]) == 1

    def _union(self, players: Sequence[int]) -> Group:
        """Return the features of players, ascending."""
        return tuple(sorted(j for p in players for j in self._used[p]))
