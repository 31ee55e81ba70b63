"""Feature vectors against a plain loop over paths, at 50,000 features, and on a forest in ONNX.

Both sides of a ratio run in turn in this process.
"""

from __future__ import annotations

import resource
import time
from collections.abc import Callable

import numpy as np
from onnx import TensorProto, helper
from onnxplain.v1.explanation_service_pb2 import ExplainRequest, ExplainResponse, MethodOptions
from onnxplain.v1.feature_vectors_pb2 import FeatureVectorsOptions
from onnxplain.v1.model_pb2 import Model
from onnxplain_server.adapters.runner.in_process import InProcess
from onnxplain_server.core.interfaces import Call
from onnxplain_server.core.request import ServiceMethod
from onnxplain_server.methods.feature_vectors.cooccurrence import Rule, count
from onnxplain_server.methods.feature_vectors.embedding import Embedding, embed
from onnxplain_server.methods.feature_vectors.paths import Paths, of_children

from bench.shared.null_host import NullHost

WINDOW = 3
DEPTH = 5


def forest(sentence_count: int, feature_count: int) -> Paths:
    """Make full trees, of which the features follow a power law as those of real forests do."""
    random = np.random.default_rng(0)
    inner = 2**DEPTH - 1
    tree_count = sentence_count // (inner + 1)
    size = 2 * inner + 1
    left, right = np.full(size, -1), np.full(size, -1)
    left[:inner], right[:inner] = 2 * np.arange(inner) + 1, 2 * np.arange(inner) + 2
    drawn = (feature_count * random.random((tree_count, size)) ** 2).astype(np.intp)
    trees = [(left, right, column) for column in drawn]
    return of_children(trees, np.arange(feature_count), feature_count)


def sentences_of(paths: Paths) -> list[list[int]]:
    found = []
    for leaf in paths.leaf.tolist():
        node, sentence = int(paths.parent[leaf]), []
        while node >= 0:
            sentence.append(int(paths.feature[node]))
            node = int(paths.parent[node])
        found.append(sentence[::-1])
    return found


def plainly(sentences: list[list[int]], feature_count: int) -> np.ndarray:
    """Count path by path, and decompose the dense matrix wholly."""
    matrix = np.zeros((feature_count, feature_count))
    for sentence in sentences:
        for start in range(max(len(sentence) - WINDOW, 0) + 1):
            window = sorted(set(sentence[start : start + WINDOW]))
            for place, i in enumerate(window):
                for j in window[place + 1 :]:
                    matrix[i, j] += 1
                    matrix[j, i] += 1
    u, s, _ = np.linalg.svd(matrix)
    return np.asarray(u[:, :2] * s[:2])


def ours(paths: Paths) -> Embedding:
    return embed(count(paths, Rule(WINDOW)), 2)


def seconds(run: Callable[[], object], times: int = 3) -> float:
    """Time a few runs: the quickest."""
    found = []
    for _ in range(times):
        start = time.perf_counter()
        run()
        found.append(time.perf_counter() - start)
    return min(found)


def beside_a_loop() -> None:
    paths = forest(100_000, 1_000)
    sentences = sentences_of(paths)
    fast, slow = seconds(lambda: ours(paths)), seconds(lambda: plainly(sentences, 1_000), 1)
    print(f"100,000 paths, 1,000 features: {fast:.2f} s; plain loop, dense SVD: {slow:.2f} s")
    print(f"ratio {slow / fast:.1f}, wanted at least 10")


def many_features() -> None:
    paths = forest(1_000_000, 50_000)
    taken = seconds(lambda: ours(paths), 1)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(f"1,000,000 paths, 50,000 features: {taken:.1f} s, wanted below 30")
    print(f"peak memory of this process {peak:.2f} GB, wanted below 2")


def onnx_forest(tree_count: int = 500, feature_count: int = 50, depth: int = 8) -> bytes:
    """Make a forest of full trees as one operator."""
    random = np.random.default_rng(0)
    inner = 2**depth - 1
    size, leaves = 2 * inner + 1, inner + 1
    node = np.arange(size)
    is_inner = node < inner
    children = [np.where(is_inner, 2 * node + side, 0) for side in (1, 2)]
    leaf_trees = np.repeat(np.arange(tree_count), leaves)
    operator = helper.make_node(
        "TreeEnsembleRegressor", ["x"], ["y"], domain="ai.onnx.ml", n_targets=1,
        nodes_treeids=np.repeat(np.arange(tree_count), size).tolist(),
        nodes_nodeids=np.tile(node, tree_count).tolist(),
        nodes_featureids=random.integers(0, feature_count, tree_count * size).tolist(),
        nodes_modes=np.where(is_inner, "BRANCH_LEQ", "LEAF").tolist() * tree_count,
        nodes_values=random.normal(size=tree_count * size).tolist(),
        nodes_truenodeids=np.tile(children[0], tree_count).tolist(),
        nodes_falsenodeids=np.tile(children[1], tree_count).tolist(),
        target_treeids=leaf_trees.tolist(),
        target_nodeids=np.tile(np.arange(inner, size), tree_count).tolist(),
        target_ids=[0] * len(leaf_trees),
        target_weights=random.normal(1, 0.1, len(leaf_trees)).tolist(),
    )  # fmt: skip
    graph = helper.make_graph(
        [operator],
        "forest",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["n", feature_count])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, ["n", 1])],
    )
    opsets = [helper.make_opsetid("", 17), helper.make_opsetid("ai.onnx.ml", 3)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    return bytes(model.SerializeToString())


def a_model() -> None:
    content = onnx_forest()
    request = ExplainRequest(
        model=Model(content=content),
        methods=[MethodOptions(feature_vectors=FeatureVectorsOptions(source="MODEL"))],
    ).SerializeToString()
    runner = InProcess(2)
    first = seconds(lambda: runner.answer(Call(ServiceMethod.EXPLAIN, request), NullHost()), 1)
    again = seconds(lambda: runner.answer(Call(ServiceMethod.EXPLAIN, request), NullHost()))
    answer = ExplainResponse.FromString(
        runner.answer(Call(ServiceMethod.EXPLAIN, request), NullHost()).content
    )
    paths = answer.explanations[0].feature_vectors.sentence_count
    print(f"500 trees in ONNX ({len(content) / 2**20:.0f} MiB, {paths:,} paths):")
    print(f"{first:.2f} s with loading, {again:.2f} s once loaded, wanted below 1")
    runner.close()


def main() -> None:
    beside_a_loop()
    a_model()
    many_features()


if __name__ == "__main__":
    main()
