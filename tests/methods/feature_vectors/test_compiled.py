"""Compilation of the counting kernel: once, at first use."""

import subprocess
import sys
from pathlib import Path

FOREST = Path(__file__).parents[2] / "golden/featurevectors/diabetes_rf/model.onnx"

LATER = """
import sys
from pathlib import Path
import numpy as np
import onnx
from onnxplain_server.methods.feature_vectors import cooccurrence
from onnxplain_server.methods.feature_vectors.paths import of_children, of_ensemble, of_sentences
from onnxplain_server.trees.reading.forest import read_forest

loops = (cooccurrence._ends, cooccurrence._pairs)
cooccurrence.count(of_sentences([[0, 1, 2]], 3), cooccurrence.Rule())
before = [loop.signatures for loop in loops]
forest = read_forest(onnx.load(sys.argv[1]))
tree = np.array([1, -1, -1]), np.array([2, -1, -1]), np.array([0, -2, -2])
for paths in (of_ensemble(forest.ensemble), of_children([tree], np.arange(2), 2)):
    some = paths.of_features(np.arange(2))
    for rule in (
        cooccurrence.Rule(),
        cooccurrence.Rule(2, cooccurrence.CountingUnit.PER_PATH, True),
    ):
        for each in (paths, some):
            cooccurrence.count(each, rule)
            cooccurrence.count(each, rule, np.ones(len(each), dtype=np.int64))
assert [loop.signatures for loop in loops] == before
print([len(known) for known in before])
"""


def test_paths_of_any_source_need_no_other_code() -> None:
    """In a process of its own, in which nothing was compiled before."""
    done = subprocess.run(
        [sys.executable, "-c", LATER, FOREST], capture_output=True, text=True, check=False
    )

    assert done.stderr == ""
    assert done.stdout == "[1, 1]\n"
