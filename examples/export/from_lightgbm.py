"""A LightGBM classifier, by onnxmltools: one input for all columns."""

import json
from pathlib import Path

import numpy as np
from lightgbm import LGBMClassifier
from onnxmltools import convert_lightgbm
from onnxmltools.convert.common.data_types import FloatTensorType
from sklearn.datasets import load_breast_cancer

data = load_breast_cancer(as_frame=True)
rows = data.data.astype(np.float32)
model = LGBMClassifier(n_estimators=50, random_state=1, verbose=-1)
model.fit(rows.to_numpy(), data.target)

inputs = [("features", FloatTensorType([None, rows.shape[1]]))]
exported = convert_lightgbm(model, initial_types=inputs, zipmap=False)
# Column names, by which onnxplain finds the columns in any table.
exported.metadata_props.add(key="feature_names", value=json.dumps(list(rows.columns)))
Path("model.onnx").write_bytes(exported.SerializeToString())
predicted = model.predict_proba(rows.to_numpy())[:, 1]
rows.assign(predicted=predicted).to_csv("rows.csv", index=False)
