"""Remote models as a server sees them: sessions of requests, and counts of their calls."""
