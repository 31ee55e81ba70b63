"""Key index: the position of each key, however the keys are ordered."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from onnxplain_server.trees.reading.structure import KeyIndex

KEYS = st.lists(st.integers(0, 40), min_size=1, max_size=30)


@given(KEYS.flatmap(lambda keys: st.sampled_from([keys, sorted(keys)])), KEYS)
def test_finds_the_positions_of_keys_that_exist(keys, targets):
    distinct = list(dict.fromkeys(keys))

    found = KeyIndex(np.array(distinct)).find(np.array(targets))

    assert found.tolist() == [
        distinct.index(target) if target in distinct else -1 for target in targets
    ]


@given(KEYS.flatmap(lambda keys: st.sampled_from([keys, sorted(keys)])), KEYS, st.data())
def test_a_referrer_changes_no_position(keys, targets, data):
    distinct = np.array(list(dict.fromkeys(keys)))
    place = st.integers(0, len(distinct) - 1)
    referrers = np.array(data.draw(st.lists(place, min_size=30, max_size=30))[: len(targets)])
    index = KeyIndex(distinct)

    found = index.find(np.array(targets), referrers)

    assert found.tolist() == index.find(np.array(targets)).tolist()


@given(KEYS)
def test_tells_which_keys_occur_again(keys):
    repeated = KeyIndex(np.array(keys)).repeated

    assert sorted(keys[i] for i in repeated) == sorted(
        key for key in set(keys) for _ in range(keys.count(key) - 1)
    )
