"""Claims of sentences and titles: what may be called the largest, and of how many."""
