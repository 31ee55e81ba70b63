"""Trees engine: effects of tree ensembles from leaf values and row counts, without predicting.

Reading order: `reading` (ONNX graph to arrays), `exact` (sums over trees) on `counting`, `linked`
(probabilities) on `stepping`; `bound` and `replicates` serve both, `kernels` holds the compiled
descents.
Nothing here calls the model's runtime, or knows of methods and requests.
"""
