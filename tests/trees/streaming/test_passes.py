"""Passes as bytes: what is computed from decoded ones has the bits of what they were made from."""

from __future__ import annotations

import pickle
import zipfile
from dataclasses import dataclass

import numpy as np
import pytest
from onnxplain_server.effects.background import merge
from onnxplain_server.effects.ledger import Ledger
from onnxplain_server.methods.interactions.streamed_measurement import JointMoments, SingleMoments
from onnxplain_server.methods.losses import Loss
from onnxplain_server.trees.kernels.block_pool import BlockPool
from onnxplain_server.trees.leaves import Leaves
from onnxplain_server.trees.streaming import failure_pass
from onnxplain_server.trees.streaming.block_effects import AffineOutputs
from onnxplain_server.trees.streaming.blocks import CallingThread, RowBlock
from onnxplain_server.trees.streaming.encoding import Encoding
from onnxplain_server.trees.streaming.failure_pass import FailurePass, ReachPass
from onnxplain_server.trees.streaming.passes import (
    CLASSES,
    CountPass,
    EffectsPass,
    TreeSums,
    run_task,
)

from bench.shared.engines import bind
from bench.shared.null_host import NullHost
from tests.trees.test_exact import drawn, grown

WIDTH = 4
NAMES = tuple(f"x{j}" for j in range(WIDTH))
ENCODING = Encoding((*CLASSES, *failure_pass.CLASSES, SingleMoments, JointMoments))


def summed(work, trees, parts) -> bytes:
    """Run a task, and return its sums as bytes."""
    pool = BlockPool(CallingThread(), Ledger(NullHost()))
    blocks = [RowBlock(len(rows), rows) for rows in parts]
    prepared = work.prepare(trees, Leaves(trees.ensemble), pool)
    return ENCODING.encode(run_task(prepared, blocks, pool, lambda _rows: None))


def again(value):
    return ENCODING.decode(ENCODING.encode(value))


@pytest.fixture(params=["classes", "one output"])
def trees(request, engine, regressor) -> TreeSums:
    rng = np.random.default_rng(11)
    targets = 3 if request.param == "classes" else 1
    rows = drawn(rng, 100, WIDTH)
    ensemble = engine(regressor([grown(rng, 5, WIDTH, targets) for _ in range(6)], WIDTH), rows)
    names = [f"y{k}" for k in range(targets)]
    return TreeSums(
        ensemble._ensemble, AffineOutputs.of(ensemble._ensemble, names, np.arange(targets))
    )


@pytest.fixture
def parts():
    """Two blocks of rows with weights."""
    rng = np.random.default_rng(12)
    features = [bind(drawn(rng, 300, WIDTH), NAMES) for _ in range(2)]
    return [merge(each, rng.random(300) + 0.1, np.arange(300)) for each in features]


def test_sums_of_a_decoded_pass_have_the_same_bits(trees, parts) -> None:
    groups = ((0,), (1, 3), (0, 1, 2))
    counting = CountPass(groups)

    counted = summed(counting, trees, parts)
    assert summed(again(counting), again(trees), parts) == counted

    for own in (FailurePass(((0, 2), (1,), (3,))), ReachPass()):
        assert summed(again(own), again(trees), parts) == summed(own, trees, parts)
    for measure in (SingleMoments((0,)), JointMoments(groups[1:])):
        work = EffectsPass(ENCODING.decode(counted), groups, measure)
        assert summed(again(work), again(trees), parts) == summed(work, trees, parts)


def test_arrays_keep_type_shape_order_and_bits() -> None:
    @dataclass
    class Given:
        values: object

    encoding = Encoding([Given])
    arrays = [
        np.array([[1.0, np.nan], [-0.0, np.inf]]),
        np.asfortranarray(np.arange(6, dtype=np.int32).reshape(2, 3)),
        np.array([True, False]),
        np.zeros((0, 3), np.float32),
        np.array(0.1),
    ]

    decoded = encoding.decode(encoding.encode(Given(arrays))).values

    for found, sent in zip(decoded, arrays, strict=True):
        assert (found.dtype, found.shape) == (sent.dtype, sent.shape)
        assert found.tobytes("A") == sent.tobytes("A")
        assert found.flags.f_contiguous == sent.flags.f_contiguous


def test_plain_values_keep_their_types() -> None:
    value = (1, 0.1, True, None, "é", (), {(1, 2): "b"}, frozenset({(1,)}), np.dtype("float32"))

    assert Encoding([]).decode(Encoding([]).encode(value)) == value
    texts = Encoding([]).decode(Encoding([]).encode(np.array(["a", "b"], object)))
    assert texts.dtype == object
    assert texts.tolist() == ["a", "b"]


def test_enumerations_keep_their_values() -> None:
    encoding = Encoding([Loss])

    assert encoding.decode(encoding.encode((Loss.MAPE, Loss.AUC))) == (Loss.MAPE, Loss.AUC)


def test_other_classes_are_neither_encoded_nor_decoded(trees) -> None:
    with pytest.raises(TypeError, match="a Ledger cannot be encoded"):
        ENCODING.encode(Ledger(NullHost()))
    with pytest.raises(KeyError):
        Encoding([]).decode(ENCODING.encode(trees))


def test_a_pickle_is_not_read() -> None:
    with pytest.raises((ValueError, zipfile.BadZipFile)):
        ENCODING.decode(pickle.dumps({"tree": 1}))
