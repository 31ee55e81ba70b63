"""Effects of boosted classifiers on probabilities: sums over trees, and a link for each."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from itertools import combinations

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix, Vector
from onnxplain_server.core.table import sample_rows
from onnxplain_server.effects.background import Background, combine
from onnxplain_server.effects.engine import Joint, Single
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.effects.rounding import AVERAGING
from onnxplain_server.trees.bound import BoundRows
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.reading.check import magnitude
from onnxplain_server.trees.reading.ensemble import Int32Array
from onnxplain_server.trees.reading.links import LinkedEnsemble
from onnxplain_server.trees.replicates import Replicates
from onnxplain_server.trees.stepping.planes import fits_in_table, plane_means
from onnxplain_server.trees.stepping.step_functions import StepFunctions

_HYBRIDS = 16_384
"""Rows with features moved that are sent down together, so that memory does not grow with them."""


class Linked:
    """The engine for models whose outputs are a link of sums over trees.

    No row is predicted. A single feature is moved over all its cells at once, exactly and on
    all rows: each row's answer along it is a step function (`steps`). So are two features, as
    far as tables of their cells fit into memory (`planes`). Otherwise every row goes down the
    trees once for each combination of cells.

    Parameters
    ----------
    linked : LinkedEnsemble
    background : Background
    output_names : tuple of str
        Of all outputs of the model.
    outputs : (n_outputs,)
        Which of them are wanted. A link needs all scores; they are chosen after it.
    ledger : Ledger
    threads : ThreadPoolExecutor
    joint_rows : int
        Most rows for effects of several features together, whose time grows with their square.

    Notes
    -----
    Cost: for a single feature, time grows with rows times cells plus rows times trees; for
    two, with rows times the product of their cells plus rows times trees; for more, with rows
    times combinations of cells times trees. Progress counts the rows of
    the background once for each single feature, and once per point otherwise.
    """

    def __init__(
        self,
        linked: LinkedEnsemble,
        background: Background,
        output_names: tuple[str, ...],
        outputs: Indices,
        ledger: Ledger,
        threads: ThreadPoolExecutor,
        joint_rows: int,
    ) -> None:
        self._linked = linked
        self._joint_rows = joint_rows
        self._ensemble = linked.ensemble
        self._outputs = outputs
        self._ledger = ledger
        self._threads = threads
        self._pool = BlockPool(threads, ledger)
        self._bound = BoundRows(
            linked.ensemble, background, output_names, outputs, self._answer, self._pool
        )
        self._effects: dict[tuple[int, ...], Matrix] = {}
        self._replicates: Replicates | None = None

    @property
    def background(self) -> Background:
        """See `Effects.background`."""
        return self._bound.background

    @property
    def output_names(self) -> tuple[str, ...]:
        """See `Effects.output_names`."""
        return self._bound.output_names

    def restrict(self, background: Background) -> Linked:
        """See `Effects.restrict`."""
        return Linked(
            self._linked,
            background,
            self._bound.all_names,
            self._outputs,
            self._ledger,
            self._threads,
            self._joint_rows,
        )

    def for_joint(self) -> Linked:
        """See `Effects.for_joint`: on a draw of rows, always the same, where there are many."""
        rows = sample_rows(len(self._bound.background), self._joint_rows, 0)
        if len(rows) == len(self._bound.background):
            return self
        return self.restrict(self._bound.background.take(rows))

    def cost(self, features: Sequence[int], n_points: int | None = None) -> int:
        """See `Effects.cost`: what progress counts; nothing is predicted."""
        n = len(self._bound.background)
        if n_points is None:
            n_points = 1 if len(features) == 1 else n
        return n * n_points

    def release(self, rows: int) -> None:
        """See `Effects.release`."""
        self._ledger.release(rows)

    def outputs(self) -> Matrix:
        """See `Effects.outputs`."""
        return self._bound.outputs

    def rounding_error(self) -> Vector:
        """See `Effects.rounding_error`: that of scores, to which no probability is steeper."""
        scores = magnitude(self._ensemble).max()
        return np.full(len(self._outputs), AVERAGING * (1 + scores))

    def batches(self, weights: Array) -> Iterator[Array]:
        """See `Effects.batches`: one after another."""
        if weights.ndim == 1:
            yield weights
            return
        yield weights[0]
        for i in range(1, len(weights)):
            yield weights[i : i + 1]

    def batch_count(self, replicate_count: int) -> int:
        """See `Effects.batch_count`."""
        return 1 + replicate_count

    def single(self, features: Sequence[int], weights: Matrix | None = None) -> Iterator[Single]:
        """See `Effects.single`."""
        if weights is not None:
            yield from self._under(weights).single(features)
            return
        shares = self._bound.ranked.shares
        for j in features:
            points, inverse = np.unique(self._bound.ranked.codes[j], return_inverse=True)
            at_points = np.bincount(inverse, shares).astype(np.float64)
            found = self._stepper.means(j, points, at_points, self._pool)
            self._effects[j,] = self._wanted(found.own)[inverse]
            self._ledger.spend(len(self._bound.background), 0)
            yield Single(j, self._effects[j,], self._wanted(found.others))

    def joint(
        self, groups: Sequence[tuple[int, ...]], weights: Matrix | None = None
    ) -> Iterator[Joint]:
        """See `Effects.joint`; what fewer features do is computed where it was not asked for."""
        if weights is not None:
            yield from self._under(weights).joint(groups)
            return
        for group in groups:
            whole = self._at_rows(group)
            self._ledger.spend(self.cost(group), 0)
            yield Joint(group, whole, self._pure(group))

    def curve(self, features: Sequence[int], points: Sequence[Array]) -> Matrix:
        """See `Effects.curve`."""
        pairs = zip(features, points, strict=True)
        curve = self._at(features, np.stack([self._ensemble.codes(j, v) for j, v in pairs]))
        self._ledger.spend(len(curve) * len(self._bound.background), 0)
        return curve

    def curves(self, asked: Sequence[tuple[Sequence[int], Sequence[Array]]]) -> Iterator[Matrix]:
        """See `Effects.curves`."""
        return (self.curve(features, points) for features, points in asked)

    def breakpoints(self, feature: int) -> Vector:
        """See `Stepped.starts`."""
        return self._ensemble.axes[feature].breakpoints()

    def individual(self, features: Sequence[int], points: Sequence[Array]) -> Cube:
        """See `Effects.individual`."""
        if len(features) > 1:
            return self._bound.individual(features, points)
        (feature,) = features
        cells = self._ensemble.codes(feature, points[0])
        distinct, inverse = np.unique(cells, return_inverse=True)
        answers = self._stepper.answers(feature, distinct, self._pool)
        self._ledger.spend(len(self._bound.background) * len(cells), 0)
        return answers[:, inverse][:, :, self._outputs]

    def permuted(self, features: Sequence[int], orders: Sequence[Indices]) -> list[Matrix]:
        """See `Effects.permuted`."""
        return self._bound.permuted(features, orders)

    def cached(
        self,
        question: bytes,  # noqa: ARG002 - numbers that need no prediction are not kept
        shape: tuple[int, int],  # noqa: ARG002
        rows: int,  # noqa: ARG002
        compute: Callable[[], Matrix],
    ) -> Matrix:
        """See `Effects.cached`."""
        return compute()

    @cached_property
    def _stepper(self) -> StepFunctions:
        return StepFunctions(self._linked, self._bound.ranked, self._bound.sums)

    def _under(self, weights: Matrix) -> Replicates:
        """Engines for weights; those of the last ones asked for are kept."""
        if self._replicates is None or self._replicates.weights is not weights:
            self._replicates = Replicates(self, weights)
        return self._replicates

    def _at_rows(self, group: tuple[int, ...]) -> Matrix:
        """Effect of a group at the rows' own values: (n, n_outputs)."""
        if group not in self._effects:
            self._effects[group] = self._at(group, self._bound.ranked.codes[list(group)])
        return self._effects[group]

    def _pure(self, group: tuple[int, ...]) -> Matrix:
        """Take from an effect what fewer of its features do, by inclusion and exclusion."""
        pure = self._at_rows(group).copy()
        for size in range(1, len(group)):
            for part in combinations(group, size):
                pure += (-1) ** (len(group) - size) * self._at_rows(part)
        return pure

    def _at(self, features: Sequence[int], cells: Int32Array) -> Matrix:
        """Effect at points given by cells, (n_features, n_points): (n_points, n_outputs)."""
        first, inverse = combine([own.astype(np.intp) for own in cells])
        points = cells[:, first]
        if len(features) == 1:
            uncounted = np.zeros(points.shape[1])
            found = self._stepper.means(features[0], points[0], uncounted, self._pool)
            return self._wanted(found.own)[inverse]
        if fits_in_table(self._linked, points):
            pair, shares = (features[0], features[1]), self._bound.ranked.shares
            walk = self._stepper.walk
            return self._wanted(plane_means(self._linked, walk, shares, pair, points, self._pool))[
                inverse
            ]
        step = max(1, _HYBRIDS // len(self._bound.background))
        starts = range(0, points.shape[1], step)
        parts = [self._average(features, points[:, s : s + step]) for s in starts]
        return np.concatenate(parts)[inverse]

    def _average(self, features: Sequence[int], points: Int32Array) -> Matrix:
        """As `_at`, for few points: all rows with the features at each of them."""
        n, n_points = len(self._bound.background), points.shape[1]
        codes = np.tile(self._bound.ranked.codes, n_points)
        codes[list(features)] = np.repeat(points, n, axis=1)
        answers = self._bound.predict(codes)
        average: Matrix = self._bound.ranked.shares @ answers.reshape(n_points, n, -1)
        return average

    def _answer(self, targets: Matrix) -> Matrix:
        """The wanted outputs from what the trees add up."""
        return self._wanted(self._linked.answer(targets))

    def _wanted(self, outputs: Matrix) -> Matrix:
        return outputs[:, self._outputs]
