"""A CatBoost classifier, which exports itself; CatBoost exports columns of numbers only."""

import json

import numpy as np
import onnx
from catboost import CatBoostClassifier
from sklearn.datasets import load_breast_cancer

data = load_breast_cancer(as_frame=True)
rows = data.data.astype(np.float32)
model = CatBoostClassifier(iterations=50, depth=4, random_seed=1, verbose=0)
model.fit(rows.to_numpy(), data.target)

model.save_model("model.onnx", format="onnx")
# Column names, by which onnxplain finds the columns in any table.
exported = onnx.load("model.onnx")
exported.metadata_props.add(key="feature_names", value=json.dumps(list(rows.columns)))
onnx.save(exported, "model.onnx")
predicted = model.predict_proba(rows.to_numpy())[:, 1]
rows.assign(predicted=predicted).to_csv("rows.csv", index=False)
