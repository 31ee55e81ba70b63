"""Model of Triton's Python backend: `model.onnx` beside this file, predicted by onnxruntime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import onnxruntime


class TritonPythonModel:
    """What the backend calls, by the names that it wants."""

    def initialize(self, arguments: dict[str, str]) -> None:
        """Load the model."""
        folder = Path(arguments["model_repository"]) / arguments["model_version"]
        self._session = onnxruntime.InferenceSession(folder / "model.onnx")

    def execute(self, requests: list[Any]) -> list[Any]:
        """Answer requests with all outputs of the model."""
        return [self._answer(request) for request in requests]

    def _answer(self, request: Any) -> Any:
        import triton_python_backend_utils as backend  # noqa: PLC0415 - Triton has it

        feeds = {each.name(): each.as_numpy() for each in request.inputs()}
        names = [each.name for each in self._session.get_outputs()]
        values = self._session.run(names, feeds)
        tensors = [backend.Tensor(*pair) for pair in zip(names, values, strict=True)]
        return backend.InferenceResponse(tensors)
