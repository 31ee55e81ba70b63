"""Readers that never read, and senders that drip: what they take of a server, and of others."""
