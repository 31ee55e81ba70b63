"""Audit log: one line of JSON per explanation, and what each one used.

Read `usage`, `ended_explanation`, `audit_line`, `audit_file`. Nothing here holds values of tables.
"""
