"""Explanations of a request, finished and partial: read `explanation`, `partial`."""
