"""Tree reader: from an ONNX graph to trees as arrays over cells of the features.

Reading order: `walk` visits the graph (`onnx_nodes`, `preparation`, `column_moves`,
`tree_operators`), `structure`, `shared_nodes` and `splits` turn its nodes into trees, `ensemble`
and `feature_axes` assemble the arrays; `forest`, `links` and `check` build on them.
`linear` reads linear functions of features, which may be added to the trees, as `sums` does.
`special_cases` tells where the runtime differs from ONNX.
Nothing here predicts, or knows of tables and requests; a model that does not fit is a `Refusal`.
"""
