"""Linear functions of features beside trees; start with `with_trees`."""
