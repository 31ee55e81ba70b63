"""Additive models: a graph as a link of a sum of terms, each of one feature.

Start with `read`. `operators` is the one table of operators: which work row by row, and which
columns of a row each of their results takes. `dependence` follows features forwards through it;
`sums` walks back from the outputs, through what is linear, to the tensors that terms are read from.
Terms are never computed here: the graph is cut, and the runtime computes them.
"""
