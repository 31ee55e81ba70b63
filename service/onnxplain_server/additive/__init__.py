"""Additive engine: effects of a link of a sum of terms, each of one feature, without predicting.

Reading order: `model` (terms, sum and link), `terms` (terms at values), `smooth_sums` (sums over
rows behind a logistic function), `averages` (over rows, behind any link), `formula_effects`,
`engine`, `check`. Weighted sums of many exponentials of such sums have their own: `kernel_model`,
`kernel_rows`, `kernel_effects`, `kernel_check`.
Nothing here calls the model's runtime but through `AdditiveModel.front`, or knows of methods and
requests.
"""
