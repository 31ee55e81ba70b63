r"""Path tables: pattern tables of the path-dependent game.

In the path-dependent game a player p that is not in S is satisfied with the share r_p of the rows
that take its branches on the leaf's path, whatever the other players are:

    f(t) = Π over p of (t b_p + (1 - t) r_p)

See `pattern_tables` for the derivatives of f and their averages.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from onnxplain_server.core.arrays import Vector
from onnxplain_server.effects.attributing.games import Rules
from onnxplain_server.trees.attributing.leaf_players import LeafPlayers
from onnxplain_server.trees.attributing.leaf_slots import LeafSlots
from onnxplain_server.trees.kernels.compile import inlined, kernel


@inlined
def _let_through(x: int, t: float, ratio: Any, through: Any) -> Any:
    """Set what a path lets through of each player; return the product and number of zeros."""
    product, zeros = 1.0, 0
    for p in range(len(through)):
        through[p] = (1 - t) * ratio[p] + (t if x >> p & 1 else 0.0)
        if through[p] == 0:
            zeros += 1
        else:
            product *= through[p]
    return product, zeros


@inlined
def _without(product: float, zeros: int, one: float, other: float) -> Any:
    """Divide a product of factors, of which some are 0, by two of them; 1 stands for none."""
    left = zeros - (one == 0) - (other == 0)
    if left > 0:
        return 0.0
    return product / ((one if one != 0 else 1.0) * (other if other != 0 else 1.0))


@kernel
def tabulate_paths(
    a: int,
    b: int,
    order: int,
    leaves: LeafPlayers,
    slots: LeafSlots,
    rules: Rules,
    ratios: Vector,
    tables: Vector,
) -> None:
    """As `tabulate_failures`, of the path-dependent game; `ratios` has r of each leaf's players."""
    for leaf in range(a, b):
        if slots.start[leaf] == slots.start[leaf + 1]:
            continue
        size = leaves.player_start[leaf + 1] - leaves.player_start[leaf]
        ratio = ratios[leaves.player_start[leaf] : leaves.player_start[leaf + 1]]
        through = np.empty(size)
        for n in range(rules.start[size], rules.start[size + 1]):
            for x in range(1 << size):
                product, zeros = _let_through(x, rules.nodes[n], ratio, through)
                slot = slots.start[leaf]
                for p in range(size):
                    first = rules.weights[n] * ((x >> p & 1) - ratio[p])
                    if order == 1:
                        rest = _without(product, zeros, through[p], 1.0)
                        tables[slots.table[slot] + x] += first * rest
                        slot += 1
                        continue
                    for q in range(p + 1, size):
                        rest = _without(product, zeros, through[p], through[q])
                        both = first * ((x >> q & 1) - ratio[q])
                        tables[slots.table[slot] + x] += both * rest
                        slot += 1
