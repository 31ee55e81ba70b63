"""Static analysis of an ONNX graph: margin, additive scores, trees, reachable columns, precision.

In reading order: `graph`, `ensembles`, `additive` and `margin`, `trees`; `outputs`, `affine`,
`reachable_columns` and `precision` stand alone. Nothing here runs the model.
"""
