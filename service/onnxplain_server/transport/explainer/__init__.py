"""Explainer of one model beside its background, for the routes that platforms of models know.

Read `explainer`, `row_service`, `kept_interactions`, `background`. Nothing here knows HTTP or reads
a setting.
"""
