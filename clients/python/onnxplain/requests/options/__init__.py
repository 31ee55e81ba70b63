"""Options of the methods: one module per file of the contract, generated from it.

Names and meanings are the contract's. An option that is left out takes the server's default,
which comes back in the result's `options`.
"""
