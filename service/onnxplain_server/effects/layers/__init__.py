"""First layers of a model: what is computed column by column, and hybrid rows made of its parts.

Reading order: `model` (the parts), `rows` (a background's parts), `check`;
`effects/sweeping/layer_tile` makes hybrid rows for the rest of the model.
"""
