"""Writes the tables of two examples of feature vectors, and trains the forests on them.

    .venv-models/bin/python examples/vectors/train.py

Tables are those that scikit-learn ships: breast cancer (Wisconsin, diagnostic) and diabetes (Efron
et al. 2004), whose serum measures get the names of their description.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from skl2onnx import to_onnx
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor

HERE = Path(__file__).parent
SERUM = {
    "s1": "total_cholesterol",
    "s2": "ldl",
    "s3": "hdl",
    "s4": "cholesterol_ratio",
    "s5": "log_triglycerides",
    "s6": "glucose",
}


def breast_cancer() -> None:
    """A forest of two classes; splits look at √30 columns."""
    found: Any = load_breast_cancer()
    names = [name.replace(" ", "_") for name in found.feature_names]
    table = pd.DataFrame(found.data, columns=names).assign(
        diagnosis=found.target_names[found.target]
    )
    save("breast_cancer", RandomForestClassifier(200, max_depth=6, random_state=0), table)


def diabetes() -> None:
    """A regression forest; splits look at a third of the columns."""
    found: Any = load_diabetes(as_frame=True, scaled=False)
    table = found.frame.rename(columns={**SERUM, "target": "progression"})
    forest = RandomForestRegressor(100, max_depth=6, max_features=1 / 3, random_state=0)
    save("diabetes", forest, table)


def save(name: str, forest: Any, table: pd.DataFrame) -> None:
    table.to_csv(HERE / f"{name}.csv", index=False)
    rows = table.iloc[:, :-1].to_numpy(np.float32)
    forest.fit(rows, table.iloc[:, -1])
    options = {"zipmap": False} if hasattr(forest, "classes_") else None
    model = to_onnx(forest, rows[:1], options=options, target_opset=15)
    (HERE / f"{name}.onnx").write_bytes(model.SerializeToString())
    print(f"{name}: score {forest.score(rows, table.iloc[:, -1]):.3f} on the same rows")


if __name__ == "__main__":
    breast_cancer()
    diabetes()
