"""Changes: which statistics of two answers differ by more than the chance of their rows.

Reading order: `comparison` (what is compared with what), `matching`, `differences`,
`curve_differences`, `rankings`, `correction`.
Arrays in, arrays out: nothing here predicts, reads messages, or draws random numbers.
"""
