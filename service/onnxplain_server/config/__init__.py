"""Configuration of the server: settings from flags, environment variables and a TOML file.

Read `settings`, `loading`, `setting_names`. Only `loading` reads the environment.
"""
