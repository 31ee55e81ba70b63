"""XGBoost's models, from JSON and UBJSON as `save_model` writes them.

In reading order: `model`, `objectives`, `trees`, `categories`.
"""

from onnxplain_server.adapters.native.xgboost.model import read

__all__ = ["read"]
