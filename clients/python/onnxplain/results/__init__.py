"""Results: one class per method, read from the contract's messages, with tidy rows for data frames.

Arrays have the shapes that the contract writes row-major. Nothing here computes a statistic,
sends a request, or imports pandas before a frame is asked for.
"""
