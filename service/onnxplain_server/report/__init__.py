"""Answers for people: findings as tables of texts, and a page that needs no network."""
