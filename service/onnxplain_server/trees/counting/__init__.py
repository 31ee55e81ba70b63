"""Row counts in the boxes of leaves: the exact effects of sums over trees without predicting.

Reading order: `leaf_conditions` and `boxes`, `ranked_rows`, then the ways to count:
`missed_conditions` for groups of one and two features at once, `bitset_counting` for one group,
`all_but_one`, and `descent_counting`; `strategies`, which chooses between them, and `pure_effects`
with `leaf_sums`, which evaluate the counts at points.
Nothing here reads ONNX, predicts, or knows of requests.
"""
