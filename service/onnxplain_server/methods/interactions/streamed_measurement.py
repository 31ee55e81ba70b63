"""Measurement of interaction statistics on a table that is read block by block."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain

from onnxplain_server.core.arrays import Vector
from onnxplain_server.methods.interactions.measurement_plan import (
    JOINT,
    ChosenGroups,
    Group,
    Plan,
)
from onnxplain_server.methods.interactions.strength import (
    Clip,
    RatioParts,
    Terms,
    clip_below,
    effects_of_group,
)
from onnxplain_server.trees.streaming.block_effects import BlockEffects
from onnxplain_server.trees.streaming.engine import StreamedTrees
from onnxplain_server.trees.streaming.moments import SeriesMoments

_Term = tuple[str, tuple[int, ...]]


class StreamedMeasurement:
    """Implements `Measurement` in two passes, and two more for pairs and triples.

    Parameters
    ----------
    trees : StreamedTrees
    plan : Plan

    Attributes
    ----------
    parts : dict of (order, features) to list of one RatioParts
    clipped : dict of (order, features) to float
        As those of `WeightedMeasurement`.
    row_count : float
        Rows of the table.
    """

    def __init__(self, trees: StreamedTrees, plan: Plan) -> None:
        self._trees = trees
        self._plan = plan
        self._chosen: ChosenGroups | None = None
        self.parts: dict[_Term, list[RatioParts]] = {}
        self.clipped: dict[_Term, float] = {}
        self.row_count = float(trees.rows.row_count)

    def run(self) -> None:
        """Measure single features, choose those for pairs and triples, and measure these."""
        clip = self._measure_single()
        overall = {j: self._numerators("overall", (j,)) for j in self._plan.positions}
        self._chosen = self._plan.choose(overall, None)
        groups = self._chosen.measured
        planned = joint_passes(self._plan, len(self._trees.outputs.names))
        count = sum(map(len, groups.values()))
        self._trees.release(self._trees.rows.row_count * (planned - (count + 1 if count else 0)))
        if count:
            self._measure_joint(groups, clip)

    def groups(self, order: str) -> Sequence[Group]:
        """Return the features, pairs or triples to list."""
        return self._plan.listed(order, self._chosen)

    def p_values(self, order: str, group: tuple[int, ...]) -> None:
        """Return None: terms are not tested."""

    def _measure_single(self) -> Clip:
        features = self._plan.positions
        groups = [(j,) for j in features]
        counts = self._trees.count(groups)
        moments = self._trees.measure(counts, groups, SingleMoments(features))
        squares = moments.mean_squares
        clip = clip_below(squares[0], self._trees.rounding_error(), self._plan.absolute_threshold)
        self._keep("total", (), squares[1], squares[0], clip)
        for q, j in enumerate(features):
            self._keep("overall", (j,), squares[2 + 2 * q], squares[0], clip)
            self._keep("importance", (j,), squares[3 + 2 * q], squares[0], clip)
        return clip

    def _measure_joint(self, groups: Mapping[str, Sequence[tuple[int, ...]]], clip: Clip) -> None:
        flat = [(order, group) for order in JOINT for group in groups[order]]
        wanted = [group for _, group in flat]
        counts = self._trees.count(wanted)
        squares = self._trees.measure(counts, wanted, JointMoments(tuple(wanted))).mean_squares
        for q, (order, group) in enumerate(flat):
            self._keep(order, group, squares[2 * q], squares[2 * q + 1], clip)

    def _keep(
        self,
        order: str,
        group: tuple[int, ...],
        numerators: Vector,
        denominators: Vector,
        clip: Clip,
    ) -> None:
        self.parts[order, group] = [RatioParts(clip(numerators), denominators)]
        if clip.clipped_share:
            self.clipped[order, group] = clip.clipped_share

    def _numerators(self, order: str, group: tuple[int, ...]) -> Vector:
        found: Vector = self.parts[order, group][0].numerators
        return found


def joint_passes(plan: Plan, n_outputs: int) -> int:
    """Bound how often rows are counted, and effects evaluated, for pairs and triples."""
    groups = plan.group_count(n_outputs)
    return groups + 1 if groups else 0


@dataclass(frozen=True, slots=True)
class SingleMoments:
    """Moments of f, and of the `Terms` of all features, the total's first.

    Attributes
    ----------
    features : tuple of int
    """

    features: tuple[int, ...]

    def __call__(self, effects: BlockEffects) -> SeriesMoments:
        """Sum over the rows of one block."""
        terms = Terms(effects.outputs())
        of_features = [
            term for single in effects.single(self.features) for term in terms.add(single)
        ]
        return SeriesMoments.of([terms.f, terms.total, *of_features], effects.weights)


@dataclass(frozen=True, slots=True)
class JointMoments:
    """Moments of the `effects_of_group` of each group.

    Attributes
    ----------
    groups : tuple of tuples of int
    """

    groups: tuple[tuple[int, ...], ...]

    def __call__(self, effects: BlockEffects) -> SeriesMoments:
        """Sum over the rows of one block."""
        joints = effects.joint(self.groups)
        return SeriesMoments.of([*chain(*map(effects_of_group, joints))], effects.weights)
