"""Outputs of rows along moved features, with or without a link function behind the sum of trees.

Reading order: `step_functions` with `step_kernels` (one feature, row by row), `planes` with
`rectangles` and `plane_kernels` (one or two features, 64 rows at once), and `profiles` with
`profile_kernel` (the label along every feature, for swarm).
Nothing here reads ONNX, predicts, or knows of requests.
"""
