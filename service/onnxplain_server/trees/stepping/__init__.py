"""Outputs of rows along moved features, for models with a link function behind the sum of trees.

Reading order: `step_functions` with `step_kernels` (one feature), `planes` (two features), and
`profiles` with `profile_kernel` (the label along every feature, for swarm).
Nothing here reads ONNX, predicts, or knows of requests.
"""
