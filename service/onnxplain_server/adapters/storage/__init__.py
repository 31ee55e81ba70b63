"""Storage of cached numbers and uploaded files, in memory and in Redis."""
