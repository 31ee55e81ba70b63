"""A PyTorch network, by torch.onnx: with its scaling inside, and in one file."""

import json

import numpy as np
import onnx
import pandas as pd
import torch

random = np.random.default_rng(1)
rows = pd.DataFrame(random.normal(size=(400, 3)), columns=["age", "bmi", "dose"], dtype=np.float32)
target = (rows["age"] * rows["bmi"] + rows["dose"]).to_numpy()[:, np.newaxis]


class Network(torch.nn.Module):
    """Two layers behind the scaling of the inputs, which belongs to the model."""

    def __init__(self, inputs: torch.Tensor) -> None:
        super().__init__()
        self.register_buffer("mean", inputs.mean(0))
        self.register_buffer("scale", inputs.std(0))
        self.layers = torch.nn.Sequential(
            torch.nn.Linear(3, 16), torch.nn.Tanh(), torch.nn.Linear(16, 1)
        )

    def forward(self, inputs: torch.Tensor) -> torch.Tensor:
        """Predict rows."""
        return self.layers((inputs - self.mean) / self.scale)


torch.manual_seed(1)
inputs, expected = torch.from_numpy(rows.to_numpy()), torch.from_numpy(target)
model = Network(inputs)
optimizer = torch.optim.Adam(model.parameters(), lr=0.02)
for _ in range(200):
    optimizer.zero_grad()
    torch.nn.functional.mse_loss(model(inputs), expected).backward()
    optimizer.step()

model.eval()  # without dropout and the like
torch.onnx.export(
    model,
    (inputs,),
    "model.onnx",
    input_names=["features"],
    output_names=["response"],
    dynamic_shapes={"inputs": {0: torch.export.Dim("rows")}},  # any number of rows
    external_data=False,  # weights in the same file, which is easier to pass on
)
# Column names, by which onnxplain finds the columns in any table.
exported = onnx.load("model.onnx")
exported.metadata_props.add(key="feature_names", value=json.dumps(list(rows.columns)))
onnx.save(exported, "model.onnx")
with torch.no_grad():
    rows.assign(predicted=model(inputs).numpy()[:, 0]).to_csv("rows.csv", index=False)
