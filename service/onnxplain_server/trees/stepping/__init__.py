"""Step functions: a tree ensemble's prediction as a function of one or two features."""
