"""Parts of answers beside results.

Read `model_summary`, which tells a model in a sentence, and `warning_messages`.
"""
