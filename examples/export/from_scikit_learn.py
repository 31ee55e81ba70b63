"""A scikit-learn pipeline with text columns, by skl2onnx: one input per column."""

from pathlib import Path

import numpy as np
import pandas as pd
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestRegressor
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

random = np.random.default_rng(1)
rows = pd.DataFrame(
    {
        "area": random.uniform(30, 150, 400).astype(np.float32),
        "year": random.integers(1900, 2020, 400).astype(np.float32),
        "district": random.choice(["north", "south", "old town"], 400),
        "heating": random.choice(["gas", "heat pump", "oil"], 400),
    }
)
rows.loc[:20, "year"] = np.nan
rent = 8 * rows["area"] + 200 * (rows["district"] == "old town") - 50 * (rows["heating"] == "oil")

prepared = make_column_transformer(
    (OneHotEncoder(handle_unknown="ignore"), ["district", "heating"]),
    (SimpleImputer(), ["area", "year"]),
)
model = make_pipeline(prepared, RandomForestRegressor(20, max_depth=6, random_state=1))
model.fit(rows, rent)
rows.loc[0, "district"] = "island"  # a category that the model does not know

types = {"area": FloatTensorType, "year": FloatTensorType}
inputs = [(name, types.get(name, StringTensorType)([None, 1])) for name in rows.columns]
exported = to_onnx(model, initial_types=inputs)
Path("model.onnx").write_bytes(exported.SerializeToString())
rows.assign(predicted=model.predict(rows)).to_csv("rows.csv", index=False)
