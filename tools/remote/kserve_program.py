"""KServe's Python server with models of scikit-learn: kserve_program.py FOLDER PORT GRPC_PORT.

Its models predict as KServe's own scikit-learn server, which is no package: probabilities where a
model has them, but for "animals", which answers its labels.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import joblib
from kserve import Model, ModelServer
from kserve.utils.utils import get_predict_input, get_predict_response


class SklearnModel(Model):
    """Model of scikit-learn from a file."""

    def __init__(self, file: Path) -> None:
        super().__init__(file.stem)
        fitted = joblib.load(file)
        is_classifier = hasattr(fitted, "predict_proba") and file.stem != "animals"
        self._predict = fitted.predict_proba if is_classifier else fitted.predict
        self.ready = True

    def predict(self, payload: Any, *_: Any, **__: Any) -> Any:
        """Predict rows of either protocol."""
        rows = get_predict_input(payload)
        return get_predict_response(payload, self._predict(rows), self.name)


def main() -> None:
    """Serve all models of the folder."""
    folder, port, grpc_port = sys.argv[1:]
    server = ModelServer(http_port=int(port), grpc_port=int(grpc_port), workers=1)
    server.start([SklearnModel(file) for file in sorted(Path(folder).glob("*.joblib"))])


if __name__ == "__main__":
    main()
