"""An XGBoost regression, by onnxmltools: one input for all columns."""

import json
from pathlib import Path

import numpy as np
from onnxmltools import convert_xgboost
from onnxmltools.convert.common.data_types import FloatTensorType
from sklearn.datasets import load_diabetes
from xgboost import XGBRegressor

data = load_diabetes(as_frame=True)
rows = data.data.astype(np.float32)
model = XGBRegressor(n_estimators=50, max_depth=4, random_state=1)
# Without the table's names, which the exporter refuses unless they are f0, f1, ...
model.fit(rows.to_numpy(), data.target)

inputs = [("features", FloatTensorType([None, rows.shape[1]]))]
exported = convert_xgboost(model, initial_types=inputs)
# Column names, by which onnxplain finds the columns in any table.
exported.metadata_props.add(key="feature_names", value=json.dumps(list(rows.columns)))
Path("model.onnx").write_bytes(exported.SerializeToString())
rows.assign(predicted=model.predict(rows.to_numpy())).to_csv("rows.csv", index=False)
