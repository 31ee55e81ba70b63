"""First layers of a network: the graph cut where values of several columns meet, or after sums.

Reading order: `frontier` (the tensors to cut at), `rest` (the graph behind them), `read`.
"""
