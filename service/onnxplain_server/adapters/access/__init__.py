"""What shows who calls: files of tokens, JWTs of a provider, certificates."""
