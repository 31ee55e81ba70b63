"""Lines on standard error: of errors, and how many of the others are wanted."""
