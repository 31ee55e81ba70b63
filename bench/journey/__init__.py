"""The way from a training run to the answer, of models of many kinds and libraries.

`train` and `own` train, `__main__` asks the command about each and writes docs/studies/journey.md.
"""
