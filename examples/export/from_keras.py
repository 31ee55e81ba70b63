"""A Keras network on TensorFlow, which Keras exports itself, by tf2onnx."""

import json

import keras
import numpy as np
import onnx
import pandas as pd

random = np.random.default_rng(1)
rows = pd.DataFrame(random.normal(size=(400, 3)), columns=["age", "bmi", "dose"], dtype=np.float32)
target = (rows["age"] * rows["bmi"] + rows["dose"] > 0).to_numpy()

keras.utils.set_random_seed(1)
mean, deviation = rows.mean(), rows.std()
layers = [
    keras.Input((3,), name="features"),
    # Scaling belongs to the model. An adapted Normalization would become further inputs.
    keras.layers.Rescaling((1 / deviation).tolist(), offset=(-mean / deviation).tolist()),
    keras.layers.Dense(16, activation="tanh"),
    keras.layers.Dense(1, activation="sigmoid", name="response"),
]
model = keras.Sequential(layers)
model.compile(keras.optimizers.Adam(0.02), loss="binary_crossentropy")
model.fit(rows.to_numpy(), target, epochs=20, verbose=0)

model.export("model.onnx", format="onnx", verbose=False)
# Column names, by which onnxplain finds the columns in any table.
exported = onnx.load("model.onnx")
exported.metadata_props.add(key="feature_names", value=json.dumps(list(rows.columns)))
onnx.save(exported, "model.onnx")
predicted = model.predict(rows.to_numpy(), verbose=0)[:, 0]
rows.assign(predicted=predicted).to_csv("rows.csv", index=False)
