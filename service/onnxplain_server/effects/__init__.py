"""Black-box engine: partial dependence and predictions of hybrid rows, for any model.

Reading order: `engine` (the interface), `background`, `predictor`, `sweeping`,
`curve_prediction`, `black_box`, `interpolated`; `grids`, `quantiles` and `weighted_mean` are used
by methods as well. Only `predictor` calls the model and only `ledger` talks to the host: nothing
here knows of requests, methods, trees or transports.
"""
