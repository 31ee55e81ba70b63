"""Methods on a random sample of their rows, with intervals of the numbers on all rows."""
