"""Survival of operations: replicas killed at work, and what another one then computes."""
