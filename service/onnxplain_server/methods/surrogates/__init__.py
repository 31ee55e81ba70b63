"""Surrogates with known effects, and their correction by predictions of the model itself.

Reading order: `boosted_trees` (the surrogate), `row_blocks` (which hybrid rows are predicted),
`contrasts` (what a block tells of a mean square), `cross_fit` (a surrogate for each fold),
`corrected` (estimates with their variances), `shrinkage`. `docs/studies/surrogate.md` has the
formulas. Arrays and a function that predicts in, arrays out.
"""
