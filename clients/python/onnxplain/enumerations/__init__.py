"""Enumerations of the contract: values by the names that people type, which the server reads too.

Imports nothing but the standard library. `names` is generated from the contract.
"""
