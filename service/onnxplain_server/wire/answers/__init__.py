"""Parts of answers beside results: `warning_messages`, and `model_summary`, a model as a sentence."""
