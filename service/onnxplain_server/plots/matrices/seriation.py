"""Seriation: an order of items in which similar ones stand together, the most similar first.

A dendrogram by average linkage keeps clusters together. Of the 2^(n-1) orders that it allows, the
one with the shortest lazy path is chosen: items π have the path length

    Σ_i (n − i) d(π_i, π_{i+1}),  i = 1 … n − 1,

where d is a dissimilarity, so that long steps come late. As in R's DendSer, but optimal, by
dynamic programming over subtrees, their positions, and their first and last items.

Earle and Hurley (2015), "Advances in Dendrogram Seriation for Application to Visualization",
Journal of Computational and Graphical Statistics 24(1), 1-25. doi:10.1080/10618600.2013.874295
Bar-Joseph, Gifford and Jaakkola (2001), "Fast optimal leaf ordering for hierarchical clustering",
Bioinformatics 17 suppl. 1, S22-S29. doi:10.1093/bioinformatics/17.suppl_1.S22
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from onnxplain_server.core.arrays import Matrix


@dataclass(frozen=True, slots=True, eq=False)
class _Tree:
    """Dendrogram: an item, or two subtrees.

    Attributes
    ----------
    items : tuple of int
    subtrees : tuple
        Two, or none.
    best : dict of int to (n_items, n_items)
        For each position of the first item: weighted sum of similarities of the best order from a
        row's item to a column's; -inf without such an order.
    """

    items: tuple[int, ...]
    subtrees: tuple[_Tree, ...] = ()
    best: dict[int, Matrix] = field(default_factory=dict)


def seriate(similarities: Matrix) -> list[int]:
    """Return the order of items as positions; ties favour the given order.

    Parameters
    ----------
    similarities : (n, n)
        Symmetric and finite; the diagonal is not read. Takes time of order n⁴.
    """
    if not len(similarities):
        return []
    tree = _dendrogram(similarities)
    best = _best(tree, 0, similarities)
    first, last = np.unravel_index(np.argmax(best), best.shape)
    return _order(tree, 0, (tree.items[first], tree.items[last]), similarities)


def _dendrogram(similarities: Matrix) -> _Tree:
    """Join the two clusters of the highest average similarity until one is left."""
    trees = [_Tree((item,)) for item in range(len(similarities))]
    linkage = np.array(similarities, float)
    np.fill_diagonal(linkage, -np.inf)
    while len(trees) > 1:
        i, j = sorted(int(at) for at in np.unravel_index(np.argmax(linkage), linkage.shape))
        sizes = len(trees[i].items), len(trees[j].items)
        linkage[i] = linkage[:, i] = np.average(linkage[[i, j]], axis=0, weights=sizes)
        linkage = np.delete(np.delete(linkage, j, axis=0), j, axis=1)
        linkage[i, i] = -np.inf
        trees[i] = _Tree(trees[i].items + trees[j].items, (trees[i], trees[j]))
        del trees[j]
    return trees[0]


def _best(tree: _Tree, start: int, similarities: Matrix) -> Matrix:
    """Return `tree.best[start]`, computed if it is not known."""
    if start not in tree.best:
        size = len(tree.items)
        tree.best[start] = np.full((size, size), -np.inf) if tree.subtrees else np.zeros((1, 1))
        for front, back in (tree.subtrees, tree.subtrees[::-1]) if tree.subtrees else ():
            totals = _totals(front, back, start, similarities).max(axis=(1, 2))
            rows, columns = ([tree.items.index(i) for i in part.items] for part in (front, back))
            tree.best[start][np.ix_(rows, columns)] = totals
    return tree.best[start]


def _totals(front: _Tree, back: _Tree, start: int, similarities: Matrix) -> Matrix:
    """Return weighted sums by first item, last of `front`, first of `back`, last item."""
    middle = start + len(front.items)
    weight = len(similarities) - middle
    steps = weight * similarities[np.ix_(front.items, back.items)]
    before = _best(front, start, similarities)
    after = _best(back, middle, similarities)
    totals: Matrix = before[:, :, None, None] + steps[None, :, :, None] + after[None, None]
    return totals


def _order(tree: _Tree, start: int, ends: tuple[int, int], similarities: Matrix) -> list[int]:
    """Return the best order of a subtree between two items."""
    if not tree.subtrees:
        return list(tree.items)
    first, last = ends
    front, back = tree.subtrees if first in tree.subtrees[0].items else tree.subtrees[::-1]
    totals = _totals(front, back, start, similarities)
    joints = totals[front.items.index(first), :, :, back.items.index(last)]
    m, k = np.unravel_index(np.argmax(joints), joints.shape)
    return [
        *_order(front, start, (first, front.items[m]), similarities),
        *_order(back, start + len(front.items), (back.items[k], last), similarities),
    ]
