"""Plugins of all folders of tests."""

pytest_plugins = ["tools.missing_programs", "tools.testing.frozen"]
