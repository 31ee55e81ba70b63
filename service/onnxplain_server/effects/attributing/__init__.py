"""Attributing predictions to features: games of coalitions, and predictions of mixed rows."""
