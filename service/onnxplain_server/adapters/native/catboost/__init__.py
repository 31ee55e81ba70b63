"""CatBoost's models, from JSON as `save_model(..., format="json")` writes them.

In reading order: `model`, `losses`, `features`, `splits`, `trees`.
"""

from onnxplain_server.adapters.native.catboost.model import read

__all__ = ["read"]
