"""Program of workers that compute with scikit-learn too; started when a request first needs it."""

from __future__ import annotations

from onnxplain_server.adapters.programs import compute_worker, preload

load = preload.load
answerers = compute_worker.answerers
