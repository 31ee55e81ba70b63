"""Explanation methods: dataclasses of options in, dataclasses of results out.

Read `registry`, `option_checks`, `target` and `losses`, then one file or folder per method. A
method arranges what an engine of `effects` or `trees` returns; it neither predicts by itself nor
knows transport, contract messages, settings or storage.
"""
