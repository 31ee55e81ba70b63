"""Checks of an untrusted model before and after onnxruntime loads it.

In reading order: `gate`, which runs `external_data`, `allowed_operators`, `attribute_lengths` and
`tree_consistency` with `tree_depth` before the load; `row_consistency` after it, on trial rows.
"""
