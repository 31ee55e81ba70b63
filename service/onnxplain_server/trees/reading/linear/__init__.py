"""Linear functions of features beside trees: read `part`, then `targets`."""
