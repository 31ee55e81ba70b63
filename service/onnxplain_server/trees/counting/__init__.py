"""Row counts in the boxes of leaves: the exact effects of sums over trees without predicting.

Reading order: `leaf_conditions` and `boxes`, `ranked_rows`, then the two ways to count,
`bitset_counting` with `all_but_one` and `descent_counting`, `strategies` that chooses between
them, and `leaf_sums`, which evaluates the counts at points.
Nothing here reads ONNX, predicts, or knows of requests.
"""
