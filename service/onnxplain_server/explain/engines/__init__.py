"""Engines of a request: `engine_choice`, `streaming_choice`, and when further ones apply."""
