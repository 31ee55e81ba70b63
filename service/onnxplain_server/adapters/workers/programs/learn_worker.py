"""Program of workers that compute with scikit-learn too; started when a request first needs it."""

from __future__ import annotations

from onnxplain_server.adapters.workers.programs import compute_worker
from onnxplain_server.adapters.workers.sandbox import preload

load = preload.load
answerers = compute_worker.answerers
