"""LightGBM's models, from the text of `save_model` and the JSON of `dump_model`.

In reading order: `parts`, what both forms give; `text` and `document`, the forms; `model`,
`objectives`, `categories`, `splits`, `trees`.
"""

from onnxplain_server.adapters.native.lightgbm.model import read_json, read_text

__all__ = ["read_json", "read_text"]
