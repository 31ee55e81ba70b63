"""Cached trees engine: effects from the cache, or from the engine, which then fills the cache."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias, TypeVar

import numpy as np

from onnxplain_server.core.arrays import Array, Cube, Indices, Matrix, Vector
from onnxplain_server.effects.attributing.games import ExactAttributions
from onnxplain_server.effects.attributing.mixed_rows import RowMixture
from onnxplain_server.effects.background import Background, fingerprint
from onnxplain_server.effects.effect_cache import CacheKey, EffectCache
from onnxplain_server.effects.engine import Group, Joint, Single
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.trees.exact import Exact
from onnxplain_server.trees.linked import Linked
from onnxplain_server.trees.with_linear import ExactWithLinear

_T = TypeVar("_T")

TreeEngine: TypeAlias = Exact | ExactWithLinear | Linked

_MAX_LENGTH = 2**15
"""Rows or points of the largest effect that is cached; the engine is quick beside moving more."""


class CachedTrees:
    """Implements `Effects` by an engine on trees, and caches what `BlackBox` caches.

    Parameters
    ----------
    engine : Exact, ExactWithLinear or Linked
    ledger : Ledger
    identity : str
        All that the outputs depend on beside model, rows, weights and selection.
    outputs : (n_outputs,)
        Positions of the outputs explained.
    """

    def __init__(self, engine: TreeEngine, ledger: Ledger, identity: str, outputs: Indices) -> None:
        self._engine = engine
        self._ledger = ledger
        self._identity = identity
        self._selected = outputs
        self._cache = self._cache_of(list(map(str, outputs)))
        self._outputs: Matrix | None = None

    def _cache_of(self, outputs: Sequence[str]) -> EffectCache:
        identity = f"trees\n{self._identity}\n{self.background.digest}"
        return EffectCache(self._ledger, identity, outputs)

    @property
    def background(self) -> Background:
        return self._engine.background

    @property
    def output_names(self) -> tuple[str, ...]:
        return self._engine.output_names

    def restrict(self, background: Background) -> CachedTrees:
        if background is self.background:
            return self
        return self._with(self._engine.restrict(background))

    def for_joint(self, order: int) -> CachedTrees:
        engine = self._engine.for_joint(order)
        return self if engine is self._engine else self._with(engine)

    def _with(self, engine: TreeEngine) -> CachedTrees:
        return CachedTrees(engine, self._ledger, self._identity, self._selected)

    def cost(self, features: Sequence[int], n_points: int | None = None) -> int:
        return self._engine.cost(features, n_points)

    def pair_allowance(self) -> float:
        return self._engine.pair_allowance()

    def release(self, rows: int) -> None:
        self._engine.release(rows)

    def rounding_error(self) -> Vector:
        return self._engine.rounding_error()

    def batches(self, weights: Array) -> Iterator[Array]:
        return self._engine.batches(weights)

    def batch_count(self, replicate_count: int) -> int:
        return self._engine.batch_count(replicate_count)

    @property
    def categories(self) -> frozenset[int]:
        return self._engine.categories

    def breakpoints(self, feature: int) -> Vector | None:
        return self._engine.breakpoints(feature)

    def individual(self, features: Sequence[int], points: Sequence[Array]) -> Cube:
        return self._engine.individual(features, points)

    def permuted(self, features: Sequence[int], permutations: Sequence[Indices]) -> list[Matrix]:
        return self._engine.permuted(features, permutations)

    def mixed(self, explained: Background, mixture: RowMixture) -> Matrix:
        return self._engine.mixed(explained, mixture)

    def exact_attributions(self) -> ExactAttributions | None:
        return self._engine.exact_attributions()

    @property
    def _caches_rows(self) -> bool:
        """True if effects at the rows are small enough."""
        return len(self.background) <= _MAX_LENGTH

    def outputs(self) -> Matrix:
        if self._outputs is None:
            self._outputs = self._cached_outputs()
        return self._outputs

    def _cached_outputs(self) -> Matrix:
        if not self._caches_rows:
            return self._engine.outputs()
        key = CacheKey("outputs", len(self.background))
        (outputs,) = self._cache.get([key])
        if outputs is None:
            (outputs,) = _laid_out(self._engine.outputs())
            self._cache.put(key, outputs)
        else:
            self._ledger.spend(len(outputs), 0)
        return outputs

    def single(self, features: Sequence[int], weights: Matrix | None = None) -> Iterator[Single]:
        if weights is not None or not self._caches_rows:
            yield from self._engine.single(features, weights)
            return
        keys = [self._keys(f"own {j}", f"others {j}") for j in features]
        found = self._lookup(keys)
        missing = _missing(features, found)
        computed, put = self._engine.single(missing), self._cache.collector(2 * len(missing))
        for j, (own, others), hit in zip(features, keys, found, strict=True):
            if hit is not None:
                self._ledger.spend(self.cost((j,)), 0)
                yield Single(j, *hit)
                continue
            single = next(computed)
            effects = _laid_out(single.own, single.others)
            put(own, effects[0])
            put(others, effects[1])
            yield replace(single, own=effects[0], others=effects[1])

    def own_and_others(
        self, groups: Sequence[Group], weights: Matrix | None = None
    ) -> Iterator[tuple[Array, Array]]:
        return self._engine.own_and_others(groups, weights)

    def wholes(self, groups: Sequence[Group], weights: Matrix | None = None) -> Iterator[Array]:
        return self._engine.wholes(groups, weights)

    def joint(self, groups: Sequence[Group], weights: Matrix | None = None) -> Iterator[Joint]:
        if weights is not None or not self._caches_rows:
            yield from self._engine.joint(groups, weights)
            return
        keys = [self._keys(f"whole {group}", f"pure {group}") for group in groups]
        found = self._lookup(keys)
        missing = _missing(groups, found)
        computed, put = self._engine.joint(missing), self._cache.collector(2 * len(missing))
        for group, (whole, pure), hit in zip(groups, keys, found, strict=True):
            if hit is not None:
                self._ledger.spend(self.cost(group), 0)
                yield Joint(group, *hit)
                continue
            joint = next(computed)
            effects = _laid_out(joint.whole, joint.pure)
            put(whole, effects[0])
            put(pure, effects[1])
            yield replace(joint, whole=effects[0], pure=effects[1])

    def curve(self, features: Sequence[int], points: Sequence[Array]) -> Matrix:
        return next(self.curves([(features, points)]))

    def curves(self, requests: Sequence[tuple[Sequence[int], Sequence[Array]]]) -> Iterator[Matrix]:
        keys = [_curve_key(features, points) for features, points in requests]
        small = [key for key in keys if key.length <= _MAX_LENGTH]
        found = iter(self._cache.get(small))
        curves = [next(found) if key.length <= _MAX_LENGTH else None for key in keys]
        computed = self._engine.curves(_missing(requests, curves))
        put = self._cache.collector(len(small) - sum(curve is not None for curve in curves))
        for (features, _), key, cached in zip(requests, keys, curves, strict=True):
            if cached is not None:
                self._ledger.spend(self.cost(features, key.length), 0)
                yield cached
                continue
            (curve,) = _laid_out(next(computed))
            if key.length <= _MAX_LENGTH:
                put(key, curve)
            yield curve

    def cached(
        self, identity: bytes, shape: tuple[int, int], rows: int, compute: Callable[[], Matrix]
    ) -> Matrix:
        cache = self._cache_of([",".join(map(str, self._selected))])
        key = CacheKey(hashlib.sha256(identity).hexdigest(), math.prod(shape))
        (cached,) = cache.get([key])
        if cached is not None:
            self._ledger.spend(rows, 0)
            return cached.reshape(shape)
        (values,) = _laid_out(compute())
        cache.put(key, values.reshape(-1, 1))
        return values

    def _keys(self, first: str, second: str) -> tuple[CacheKey, CacheKey]:
        rows = len(self.background)
        return CacheKey(first, rows), CacheKey(second, rows)

    def _lookup(self, keys: Sequence[tuple[CacheKey, ...]]) -> list[tuple[Matrix, Matrix] | None]:
        """Look pairs of effects up at once; None unless both are cached."""
        entries = iter(self._cache.get([key for pair in keys for key in pair]))
        pairs = [(next(entries), next(entries)) for _ in keys]
        return [None if one is None or two is None else (one, two) for one, two in pairs]


def _laid_out(*effects: Matrix) -> tuple[Matrix, ...]:
    """Return effects row by row in memory, as the cache returns them: sums round by the layout."""
    return tuple(map(np.ascontiguousarray, effects))


def _missing(wanted: Sequence[_T], found: Sequence[object]) -> list[_T]:
    return [each for each, hit in zip(wanted, found, strict=True) if hit is None]


def _curve_key(features: Sequence[int], points: Sequence[Array]) -> CacheKey:
    digest = hashlib.sha256(np.array(features, dtype=np.int64).tobytes())
    for values in points:
        digest.update(fingerprint(values))
    return CacheKey(f"curve {len(points)} {digest.hexdigest()}", len(points[0]))
