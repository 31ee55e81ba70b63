"""Random samples as R draws them, so that examples can use the rows of published ones.

R's default since version 3.6: the Mersenne Twister, its state filled from the seed by a linear
congruential generator, and indices by rejection of random bits (see R's ?RNG).
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

_STATE_LENGTH = 624
_WARM_UP = 51  # 50 steps of scrambling, and one for the position, which R then sets by itself
_BITS_PER_DRAW = 16


class RSample:
    """Draws like R after `set.seed(seed)`.

    >>> [int(i) + 1 for i in RSample(1).draw(10, 10)]
    [9, 4, 7, 1, 2, 5, 3, 10, 6, 8]
    """

    def __init__(self, seed: int) -> None:
        self._twister = np.random.MT19937()
        self._twister.state = {
            "bit_generator": "MT19937",
            "state": {"key": _scramble(seed), "pos": _STATE_LENGTH},
        }

    def draw(self, n: int, size: int) -> npt.NDArray[np.int64]:
        """Return `sample(n, size) - 1`: positions from 0, without replacement."""
        left, drawn = list(range(n)), []
        for _ in range(size):
            place = self._below(len(left))
            drawn.append(left[place])
            left[place] = left[-1]
            left.pop()
        return np.array(drawn)

    def _below(self, n: int) -> int:
        bits = (n - 1).bit_length()
        while True:
            number = 0
            for _ in range(0, bits + 1, _BITS_PER_DRAW):
                high_bits = int(self._twister.random_raw()) >> (32 - _BITS_PER_DRAW)
                number = (number << _BITS_PER_DRAW) + high_bits
            number &= (1 << bits) - 1
            if number < n:
                return number


def _scramble(seed: int) -> npt.NDArray[np.uint32]:
    state = []
    for _ in range(_WARM_UP + _STATE_LENGTH):
        seed = (69069 * seed + 1) % 2**32
        state.append(seed)
    return np.array(state[_WARM_UP:], dtype=np.uint32)
