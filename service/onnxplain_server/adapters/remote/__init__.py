"""Remote models: clients of the protocols that model servers speak, with limits and retries."""
